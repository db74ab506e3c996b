"""The bench names what it timed, and its rival draws the very same images."""

import itertools
import json

import mujoco_warp as mjw
import pytest
import torch

from swap.cli import main as cli
from swap.errors import UserError
from swap.evaluate import mujoco_renderer as rivals
from swap.evaluate import sim_bench
from swap.evaluate.mujoco_renderer import MujocoRenderer
from swap.evaluate.scenes import all_worlds, bank_of
from swap.robots import load
from swap.sensors import DepthRenderer, OpticsCfg
from swap.sim.gpu import GpuEngine

FIGURES = ("control steps/s", "without resets", "depth ms", "noisy depth ms", "heights ms")


def test_the_rival_renders_the_same_images():
    robot, bank = load("apollo"), bank_of(difficulties=(0.5,))
    engine = GpuEngine(robot, bank, len(bank), device="cpu")
    engine.assign(all_worlds(engine), torch.arange(len(bank)))
    engine.reset(all_worlds(engine))
    renderer = MujocoRenderer(engine, OpticsCfg())
    mjw.kinematics(*engine.mujoco)
    mjw.camlight(*engine.mujoco)
    renderer()
    state = engine.state
    ours = DepthRenderer(OpticsCfg(), robot.camera, engine.n)(
        engine.boxes, state.base_pos, state.base_quat
    )
    torch.testing.assert_close(renderer.image(), ours, atol=1e-4, rtol=0)
    assert ours.flatten(1).std(1).min() > 0.05  # each has something to see


def test_bench_sim_gives_every_figure(capsys, tmp_path):
    file = tmp_path / "bench.json"
    words = ["bench", "sim", "--device", "cpu", "--worlds", "3", "--seconds", "0"]
    assert cli.dispatch([*words, "--json", str(file)]) == 0
    assert "Simulation speed (apollo, 32 slots)" in capsys.readouterr().out
    cpu, gpu = json.loads(file.read_text())["rows"]
    assert (cpu["engine"], gpu["engine"], cpu["worlds"]) == ("cpu", "gpu", 3)
    assert all(row[name] > 0 for row in (cpu, gpu) for name in (*FIGURES, "memory MiB"))
    assert cpu["render() ms"] is None
    assert gpu["render() ms"] > 0
    assert gpu["speed-up"] > 0


def test_what_cannot_run_here_is_a_note(monkeypatch):
    monkeypatch.setattr(sim_bench, "warp_runs_on", lambda device: False)
    cpu, gpu = sim_bench.bench("cpu", [2], seconds=0.0)
    assert cpu["control steps/s"] > 0
    assert cpu["depth ms"] is None
    assert gpu["note"] == "Warp cannot compile for the CPU here"
    assert "control steps/s" not in gpu


def test_a_rival_that_fails_says_why():
    def build():
        raise MemoryError("no room\nat all")

    assert rivals.try_renderer(build) == (None, "MemoryError: no room")


def test_jobs_take_turns():
    turns = []
    jobs = {name: lambda name=name: turns.append(name) for name in "ab"}
    took = sim_bench.race(jobs, seconds=0.0)
    assert set(took) == {"a", "b"}
    assert all(t > 0 for t in took.values())
    switches = sum(x != y for x, y in itertools.pairwise(turns))
    assert switches >= 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--worlds", "0"], "--worlds 0; use 1 or more"),
        (["--slots", "0"], "--slots 0; use 1 or more"),
        (["--seconds", "-1"], "--seconds -1.0; use 0 or more"),
        (["--robot", "apolo"], "unknown robot 'apolo'; did you mean 'apollo'"),
        (["--slots", "4"], "a world holds 4; use slots="),
    ],
)
def test_bad_input_is_one_line(words, says):
    with pytest.raises(UserError, match=says) as caught:
        cli.dispatch(["bench", "sim", "--device", "cpu", *words])
    assert "\n" not in str(caught.value)
