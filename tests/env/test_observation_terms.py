"""A user adds a sensor by one declaration; every network reads it and mirrors it exactly."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import tiny_swap
from swap.cli import main as cli
from swap.cli.check_model import judged
from swap.cli.train import parse
from swap.env import OBSERVATIONS, EnvCfg, Observation, ObservationNoiseCfg, ParkourEnv, Spaces
from swap.errors import UserError
from swap.evaluate.mirrored_pairs import Pairs
from swap.evaluate.model_audit import LIMIT_M, ModelAudit
from swap.evaluate.scenes import bank_of
from swap.runs.trained_robot import TrainedRobot
from swap.symmetry import VECTOR, trivial

FOOT_LOAD = Observation(
    "foot_load",
    rep=lambda spaces: spaces.body.leg_rep,
    read=lambda now: now.frame.foot_force[..., 2],
    doc="force on each foot, upwards, N",
    scale=1e-3,
    noise=5.0,
)
WORD = "my_sensor.py:FOOT_LOAD"
SOURCE = """
from swap.env import Observation
FOOT_LOAD = Observation(
    "foot_load",
    rep=lambda spaces: spaces.body.leg_rep,
    read=lambda now: now.frame.foot_force[..., 2],
)
"""


@pytest.fixture
def known(monkeypatch):
    """Registers the sensor, or a changed one, under its import string."""

    def make(**change):
        monkeypatch.setitem(OBSERVATIONS.added, WORD, replace(FOOT_LOAD, **change))

    make()
    return make


def small(n=3, seed=0, **options):
    options = {"families": (("box", 1.0),), "levels": 2, "variants": 1, **options}
    return ParkourEnv(EnvCfg(observations=(WORD,), **options), n, seed=seed)


# --- what is observed -----------------------------------------------------------------------------
def test_it_is_a_group_of_its_own_name_and_moves_no_other(known):
    quiet = ObservationNoiseCfg(0, 0, 0, 0)
    known(noise=0.0)
    one = small(noise=quiet)
    two = ParkourEnv(replace(one.cfg, observations=()), one.n)
    here, there = one.reset(), two.reset()
    for _ in range(20):
        here, there = one.step(torch.zeros(3, 12)).obs, two.step(torch.zeros(3, 12)).obs
    load = one.engine.state.foot_force[..., 2]
    assert load.max() > 50  # it stands
    assert torch.equal(here.pop("foot_load"), load * 1e-3)
    assert here.keys() == there.keys()
    for name, x in there.items():
        assert torch.equal(x, here[name]), name


def test_its_noise_is_as_large_as_it_says_and_the_layouts_say_how_it_mirrors(known):
    env = small(n=200)
    known(noise=0.0)
    off = (env.reset()["foot_load"] - small(n=200).reset()["foot_load"]).abs()
    assert 4.9e-3 < off.max() <= 5.001e-3
    assert env.groups["foot_load"].names == ("foot_load",)
    left_to_right = env.groups["foot_load"].rep(torch.arange(4.0))
    assert left_to_right.tolist() == [1, 0, 3, 2]


def test_what_is_built_in_may_be_a_group_too():
    cfg = EnvCfg(observations=("lin_vel", "friction"), levels=2, variants=1)
    env = ParkourEnv(cfg, 2)
    obs = env.reset()
    where = env.groups["privileged"]
    for name in ("lin_vel", "friction"):
        assert torch.equal(obs[name], obs["privileged"][:, where[name]])
    assert Spaces(extra=(OBSERVATIONS["lin_vel"],)).terms == Spaces().terms


def test_terrain_lines_are_three_columns_of_the_terrain_and_mirror_as_it_does():
    lines, spaces = OBSERVATIONS["terrain_lines"], Spaces()
    grid, columns = spaces.heights.terrain.grid, [2, 5, 8]
    terrain = torch.randn(4, grid.rows * grid.cols)
    seen = lines.read(SimpleNamespace(heights=SimpleNamespace(terrain=terrain)))
    assert torch.equal(seen, terrain.view(4, grid.rows, grid.cols)[:, :, columns].flatten(1))
    mirrored = grid.rep(terrain).view(4, grid.rows, grid.cols)
    assert torch.equal(lines.field(spaces).rep(seen), mirrored[:, :, columns].flatten(1))
    env = ParkourEnv(EnvCfg(observations=("terrain_lines",), levels=2, variants=1), 2)
    assert env.reset()["terrain_lines"].shape == (2, grid.rows * 3)


# --- mistakes -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("lin_vell",), "unknown observation 'lin_vell'; did you mean 'lin_vel'"),
        (("command",), "observation 'command' is there already"),
        (("lin_vel", "lin_vel"), "observation 'lin_vel' is given twice"),
    ],
)
def test_words_that_name_nothing_new(words, says):
    with pytest.raises(UserError, match=says):
        _ = EnvCfg(observations=words).spec


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "contacts"}, "observation 'contacts' is there already; rename yours"),
        ({"name": "history"}, "observation 'history' is there already; rename yours"),
        ({"rep": trivial(3)}, r"is read as \[3, 4\], by its rep it is \[3, 3\]"),
        ({"read": lambda now: now.state.foot_force}, r"is read as \[3, 4, 3\]"),
        ({"read": lambda now: 3.0}, "is read as float, by its rep"),
        ({"read": lambda now: now.foot}, r"read that fails: .*py, line \d+: AttributeError: 'Read"),
        ({"rep": lambda spaces: spaces.legs}, r"rep that fails: .*py, line \d+: AttributeError"),
        ({"rep": lambda spaces: 4}, "has a rep that is none: 4"),
    ],
)
def test_a_sensor_that_does_not_fit_is_one_line(known, change, says):
    known(**change)
    with pytest.raises(UserError, match=says) as error:
        small().reset()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"name": "foot load"}, "is no name"), ({"noise": -1.0}, "noise=-1.0; give 0 or more")],
)
def test_a_declaration_that_makes_no_sense_is_refused(change, says):
    with pytest.raises(UserError, match=says):
        replace(FOOT_LOAD, **change)


def test_groups_that_are_not_there_name_those_that_are(known):
    with pytest.raises(UserError, match=r"unknown observation group 'foot_lod'; .* 'foot_load'"):
        replace(
            seeing(), model=replace(tiny_swap.CFG.model, net=replace(NET, reads=("foot_lod",)))
        ).build("cpu")
    with pytest.raises(UserError, match="name at least one group, each once"):
        replace(NET, reads=())


# --- what is learned from it ----------------------------------------------------------------------
NET = replace(tiny_swap.NET, reads=("proprioception", "foot_load"))


def seeing(**change):
    """The config of a small robot; all its networks read the sensor."""
    cfg = tiny_swap.CFG
    policy = replace(
        cfg.policy,
        actor_reads=(*cfg.policy.actor_reads, "foot_load"),
        critic_reads=(*cfg.policy.critic_reads, "foot_load"),
    )
    return replace(
        cfg,
        engine="cpu",
        env=replace(cfg.env, observations=(WORD,)),
        policy=policy,
        model=replace(cfg.model, net=NET),
        **change,
    )


def trained(cfg):
    """A robot with its networks after two iterations."""
    trainer = cfg.build("cpu")
    told = [trainer.iterate() for _ in range(2)][-1]
    assert all(x == x for x in told.values())  # nothing is NaN
    return TrainedRobot("swap", 2, cfg, trainer.learned())


def audited(robot):
    audit = ModelAudit(robot, "cpu", ("tilted_box", "rocks"))
    with torch.no_grad():  # a robot that has hardly learned hardly moves
        for p in audit.networks.policy.actor.mlp.net.out.parameters():
            p.mul_(60)
    audit.run(30)
    return list(audit.check_networks()), list(audit.check_behaviour())


def test_every_network_reads_it_and_mirrors_to_the_last_bit(known):
    robot = trained(seeing())
    before = {name: x.shape for name, x in trained(tiny_swap.CFG).tensors.items()}
    for name in ("policy/actor", "policy/critic", "model/encoder.prop", "model/decoder.vectors"):
        wider = [k for k, x in robot.tensors.items() if k.startswith(name) and x.shape != before[k]]
        assert wider, name
    (row,) = ModelAudit(robot, "cpu", ("tilted_box", "rocks")).check_observations()
    assert row["largest"] > 0.05
    assert row["pass"] is True
    parts, lives = audited(robot)
    assert {row["part"]: row["error"] for row in parts if row["error"]} == {}
    assert all(row["pass"] for row in (*parts, *lives)), (parts, lives)


def test_a_sensor_with_a_wrong_mirror_is_noticed(known):
    """Networks are equivariant with any rep; mirrored worlds only agree with the right one."""
    known(rep=trivial(4))
    robot = trained(seeing())
    (row,) = ModelAudit(robot, "cpu", ("tilted_box", "rocks")).check_observations()
    assert row["error"] > 0.1 * row["largest"]
    assert row["pass"] is False
    assert judged([row], [], [], []) == ("FAILED: the rep of foot_load", True)
    parts, lives = audited(robot)
    assert all(row["pass"] for row in parts)
    assert max(row["error, m"] for row in lives) > 10 * LIMIT_M
    assert not any(row["pass"] for row in lives)


def test_mirrored_worlds_observe_the_mirror_image(known):
    env = Pairs(seeing().env, bank_of(("tilted_box", "rocks")), speed_mps=1.0)
    rep, obs = env.groups["foot_load"].rep, env.reset()
    for _ in range(20):
        obs = env.step(torch.zeros(env.n, 12)).obs
    here, there = obs["foot_load"].chunk(2)
    assert here.abs().max() > 0.05
    torch.testing.assert_close(there, rep(here), atol=1e-5, rtol=0)
    assert (there - here).abs().max() > 1e-3


# --- as a user types it ---------------------------------------------------------------------------
def test_options_name_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_sensor.py").write_text(SOURCE)
    reads = ["--policy.actor-reads", "history", "command", "body_heights", "foot_load"]
    plan = parse(["--preset", "teacher", "--env.observations", WORD, *reads, "--device", "cpu"])
    assert plan.cfg.env.spec.groups["foot_load"].dim == 4
    assert plan.cfg.policy.actor_reads[-1] == "foot_load"
    with pytest.raises(UserError, match="unknown observation 'acceleration'"):
        cli.dispatch(["train", "--preset", "teacher", "--env.observations", "acceleration"])


def test_a_vector_sensor_needs_no_function_for_its_rep():
    push = Observation("trunk_force", VECTOR, lambda now: now.state.trunk_force)
    assert Spaces(extra=(push,)).groups["trunk_force"].rep == VECTOR
