"""The audit passes, its robots touch with every part, and it fails for each wrong mirror we thought
of."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from swap.cli import main as cli
from swap.evaluate import engine_comparison as parity_audit
from swap.evaluate import mirror_audit
from swap.evaluate.engine_comparison import EngineComparison
from swap.evaluate.mirror_audit import QUANTITIES, SENSED, TOLERANCE, Audit, SceneMirror
from swap.robots import load
from swap.sensors import HeightCfg
from swap.sim import nominal
from swap.symmetry import VECTOR, trivial

ROBOT = load("apollo")
RIGHT = SceneMirror.of(ROBOT)
JOINT = ROBOT.body.joint_rep


def audited(engine="cpu", families=("tilted_stairs",), mirror=None, robot=ROBOT, steps=12, pairs=4):
    it = Audit(engine, robot, families, "cpu", mirror, pairs)
    it.run(steps)
    return it


def beyond(row):
    """The columns that are over their limits."""
    return {name for name, limit in TOLERANCE[row["engine"]].items() if not row[name] <= limit}


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
@pytest.mark.parametrize("robot", ["apollo", "go2"])
def test_the_right_mirror_passes(engine, robot):
    families = ("rocks", "lateral_slope")
    rows = list(audited(engine, families, robot=load(robot)).rows())
    assert [row["family"] for row in rows] == list(families)
    for row in rows:
        assert row["pass"], row
        assert row["worlds"] == 8
        assert all(row[name] == 0 for name in SENSED)
        assert all(row[f"{name} p99"] <= row[name] for name in QUANTITIES if name not in SENSED)


def wrong(**reps):
    return replace(RIGHT, reps={**RIGHT.reps, **reps})


@pytest.mark.parametrize(
    ("mirror", "shows"),
    [
        (wrong(target=abs(JOINT)), {"position", "velocity", "torque"}),
        (wrong(joint_pos=abs(JOINT)), {"position"}),
        (wrong(base_ang_vel=VECTOR), {"velocity"}),
        (wrong(base_lin_vel=trivial(3)), {"velocity", "position"}),
        (wrong(force=trivial(13) @ VECTOR), {"force"}),
        (wrong(depth=trivial(64 * 64)), {"depth"}),
        (wrong(terrain=trivial(17 * 11)), {"heights"}),
        (wrong(foot=trivial(4) @ HeightCfg().foot.grid.rep), {"heights"}),
        (replace(RIGHT, course=lambda course: course), {"position", "depth", "heights"}),
        (replace(RIGHT, draws={**RIGHT.draws, "kp": trivial(12)}), {"torque"}),
        (replace(RIGHT, draws={**RIGHT.draws, "com": trivial(3)}), {"velocity"}),
        (replace(RIGHT, noise=False), {"noisy"}),
    ],
)
def test_a_wrong_mirror_is_caught(mirror, shows):
    (row,) = audited(mirror=mirror).rows()
    assert not row["pass"]
    assert shows <= beyond(row)


def test_the_gpu_engines_limits_catch_a_wrong_sign_too():
    (row,) = audited("gpu", mirror=wrong(target=abs(JOINT))).rows()
    assert {"position", "position p99", "velocity", "velocity p99", "torque p99"} <= beyond(row)


def test_unflipped_noise_shows_in_the_noise_alone():
    (row,) = audited(mirror=replace(RIGHT, noise=False)).rows()
    assert "heights" not in beyond(row)
    assert "position" not in beyond(row)


def test_nan_fails():
    it = audited()
    it._errors["base_pos"][3][2] = float("nan")
    (row,) = it.rows()
    assert not row["pass"]


def test_a_contained_world_fails_its_family():
    it = audited(families=("flat", "gap"), steps=2)
    it._troubled.add(it.pairs)
    assert [row["pass"] for row in it.rows()] == [True, False]


def test_the_scenes_touch_with_every_part():
    """Feet, thighs, shanks and trunk; otherwise the audit of forces says little."""
    it = Audit("cpu", ROBOT, ("rocks", "stairs"), "cpu", pairs=16)
    touched = torch.zeros(13, dtype=torch.bool)
    for _ in range(20):
        it.run(1)
        touched |= (it.engine.state.force.norm(dim=-1) > 1).any(0)
    assert touched.all()


def test_parity_passes_and_can_fail():
    it = EngineComparison(ROBOT, ("gap", "rocks"), "cpu", worlds=4)
    assert all(row["pass"] for row in it.rows())
    gpu = it._engines[1]
    mask = torch.ones(gpu.n, dtype=torch.bool)
    gpu.randomise(mask, nominal(ROBOT, gpu.n))  # the cpu engine keeps its own
    assert not any(row["pass"] for row in it.rows())


@pytest.fixture
def small(monkeypatch):
    """The command at a size for tests."""
    real, worlds = mirror_audit.Audit, parity_audit.EngineComparison
    monkeypatch.setattr(mirror_audit, "Audit", lambda *a: real(*a, pairs=2))
    monkeypatch.setattr(mirror_audit, "STEPS", {"cpu": 6, "gpu": 6})
    monkeypatch.setattr(parity_audit, "EngineComparison", lambda *a: worlds(*a, worlds=2))
    return SimpleNamespace(patch=monkeypatch)


def test_check_sim_writes_every_row(small, capsys, tmp_path):
    file = tmp_path / "check.json"
    words = ["check", "sim", "--device", "cpu", "--family", "box", "gap", "--json", str(file)]
    assert cli.dispatch(words) == 0
    assert capsys.readouterr().out.endswith("all pass\n")
    rows = json.loads(file.read_text())["rows"]
    assert [(row["engine"], row["family"]) for row in rows] == [
        (engine, family)
        for engine in ("cpu", "gpu", "cpu, gpu")
        for family in ("box", "gap", "limit")
    ]
    assert all(isinstance(row["position"], float) for row in rows)


def test_check_sim_fails_with_exit_code_1(small, capsys):
    small.patch.setattr(SceneMirror, "of", lambda robot: wrong(target=abs(JOINT)))
    words = ["check", "sim", "--engine", "cpu", "--device", "cpu", "--family", "flat"]
    assert cli.dispatch(words) == 1
    assert "FAILED: cpu flat" in capsys.readouterr().out
