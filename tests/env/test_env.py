"""Tests the loop: resets one step late, observations that match the state, and that a step never
waits for a GPU."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from swap.env import (
    EndReason,
    EnvCfg,
    ObservationNoiseCfg,
    ParkourEnv,
    RandomCfg,
    TerminationCfg,
)
from swap.errors import UserError
from swap.sensors import DepthCameraCfg
from swap.sim import FIXED

QUIET = ObservationNoiseCfg(0, 0, 0, 0)
GROUPS = {
    "proprioception": 33,
    "history": 210,
    "command": 3,
    "privileged": 273,
    "style": 30,
    "terrain_heights": 187,
    "body_heights": 286,
    "foot_heights": 100,
}


def random_actions(env, steps: int, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield torch.randn(env.n, 12, generator=generator)


def test_groups_are_the_papers(w):
    env = w.small()
    obs = env.reset()
    assert {name: layout.dim for name, layout in env.groups.items()} == GROUPS
    assert {name: tuple(x.shape) for name, x in obs.items()} == {
        name: (4, dim) for name, dim in GROUPS.items()
    }


# --- resets a step late ---------------------------------------------------------------------------
def test_an_episode_ends_with_its_own_last_observation_and_the_next_step_begins_anew(w):
    env = w.small(
        n=3,
        terminations=TerminationCfg(episode_length_s=0.1),
        noise=QUIET,
        random=RandomCfg(FIXED, 0),
    )
    env.reset()
    positions = []
    for k in range(1, 7):
        step = env.step(torch.full((3, 12), 0.3))
        positions.append(step.obs["history"][:, env.groups["history"]["t0.joint_pos"]].clone())
        if k < 5:
            assert step.valid.all()
            assert not (step.terminated | step.truncated).any()
    # The loop above ran one step past the end: check that step.
    assert step.valid.tolist() == [False] * 3
    assert step.reward.tolist() == [0.0] * 3
    assert not (step.terminated | step.truncated).any()
    assert env.engine.state.time.max() == 0
    moved = (positions[4] - positions[3]).abs().max()
    jumped = (positions[5] - positions[4]).abs().max()
    assert jumped > 3 * moved
    again = env.step(torch.zeros(3, 12))
    assert again.valid.all()


def test_the_last_step_is_valid_truncated_and_rewarded(w):
    env = w.small(n=2, terminations=TerminationCfg(episode_length_s=0.1))
    env.reset()
    steps = [env.step(torch.zeros(2, 12)) for _ in range(5)]
    assert [bool(step.truncated.all()) for step in steps] == [False] * 4 + [True]
    assert steps[4].valid.all()
    assert steps[4].reward.sum() > 0
    assert steps[4].info["time_s"].tolist() == pytest.approx([0.1, 0.1])


def test_the_action_at_a_reset_is_ignored(w):
    def first(action: float):
        env = w.small(n=2, terminations=TerminationCfg(episode_length_s=0.1))
        env.reset()
        for _ in range(5):
            env.step(torch.zeros(2, 12))
        return env.step(torch.full((2, 12), action)).obs

    one, two = first(0.0), first(5.0)
    for name in GROUPS:
        assert torch.equal(one[name], two[name]), name
    layout = w.small().groups["history"]
    for k in range(5):
        assert (one["history"][:, layout[f"t{k}.action"]] == 0).all()
    past = [one["history"][:, layout[f"t{k}.joint_pos"]] for k in range(5)]
    assert all(torch.equal(past[0], x) for x in past)  # nothing of the episode before


def test_one_ends_and_the_others_go_on(w):
    env = w.small(n=3)
    env.reset()
    env.frame_builder.steps[0] = 998
    steps = [env.step(torch.zeros(3, 12)) for _ in range(3)]
    assert steps[1].truncated.tolist() == [True, False, False]
    assert steps[2].valid.tolist() == [False, True, True]
    assert env.engine.state.time.tolist() == pytest.approx([0.0, 0.06, 0.06])


# --- agents ---------------------------------------------------------------------------------------
def test_500_random_steps_on_every_family_stay_finite():
    names = ("flat", "box", "gap", "stairs", "lateral_slope", "rocks", "tilted_box")
    families = tuple((name, 1.0) for name in (*names, "tilted_stairs", "tilted_gap"))
    ours = tuple((name, 1.0) for name in ("stepping_stones", "platform", "gap_to_slope"))
    cfg = EnvCfg(families=(*families, *ours), levels=4, variants=2)
    env = ParkourEnv(cfg, 20, seed=1)
    obs = env.reset()
    ends = torch.zeros(len(EndReason))
    for action in random_actions(env, 500):
        step = env.step(action)
        for name, x in (*step.obs.items(), ("reward", step.reward)):
            assert torch.isfinite(x).all(), name
        assert (step.reward >= 0).all()
        assert (step.reward[~step.valid] == 0).all()
        ends += torch.bincount(step.info["reason"], minlength=len(EndReason))
    assert set(obs) == set(GROUPS)
    assert ends[EndReason.RUNNING + 1 :].sum() > 20
    assert ends[EndReason.DIVERGED] == 0
    told = env.metrics()
    assert told["episodes"] == ends[1:].sum()
    assert told["end/upside_down"] == pytest.approx(
        float(ends[EndReason.UPSIDE_DOWN] / ends[1:].sum())
    )
    assert 0.05 <= told["frontier/box"] <= 1.9
    assert "episode_s" not in env.metrics()  # nothing since


def test_a_diverged_world_is_no_lesson(w):
    env = w.small(n=2)
    env.reset()
    env.engine._qvel[0] = float("nan")
    step = env.step(torch.zeros(2, 12))
    assert step.info["reason"].tolist() == [EndReason.DIVERGED, EndReason.RUNNING]
    assert step.valid.tolist() == [False, True]
    assert step.truncated.tolist() == [True, False]
    assert env.step(torch.zeros(2, 12)).valid.tolist() == [False, True]
    assert env.step(torch.zeros(2, 12)).valid.tolist() == [True, True]


def test_starts_are_scattered_and_stand(w):
    env = w.small(n=64, families=(("lateral_slope", 1.0),))
    env.reset()
    start = env.engine.state.base_pos.clone()
    assert start[:, 1].std() > 0.05
    assert start[:, 0].std() > 0.05
    for _ in range(40):
        step = env.step(torch.zeros(64, 12))
    assert not step.terminated.any()
    assert (step.obs["privileged"][:, env.groups["privileged"]["gravity"]][:, 2] < -0.9).all()


# --- the same again -------------------------------------------------------------------------------
def test_the_same_seed_gives_the_same_run(w):
    families = (("flat", 1.0), ("gap", 1.0))
    one, two, other = (w.small(n=6, families=families, seed=seed) for seed in (5, 5, 6))
    for env in (one, two, other):
        env.reset()
    for action in random_actions(one, 60):
        a, b, c = (env.step(action) for env in (one, two, other))
        assert torch.equal(a.reward, b.reward)
        for name in GROUPS:
            assert torch.equal(a.obs[name], b.obs[name]), name
        assert not torch.equal(a.obs["history"], c.obs["history"])


class Waits(TorchDispatchMode):
    """Records operations that would make the host wait for a GPU: reading a value, sizes that
    depend on values, tensors made from Python numbers."""

    BAD = ("_local_scalar_dense", "nonzero", "masked_select", "lift_fresh", "is_nonzero", "equal")

    def __init__(self, count):
        """`count` is on the CPU, wherever the worlds are."""
        super().__init__()
        self.seen, self.count = set(), count

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1]
        by_mask = name in ("index", "index_put", "index_put_") and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if name == "lift_fresh" and args[0].ndim == 0:  # `x[:, 2] = 0` is a fill on a GPU
            return func(*args, **(kwargs or {}))
        if name == "_local_scalar_dense" and args[0] is self.count:
            return func(*args, **(kwargs or {}))
        if name in self.BAD or by_mask:
            self.seen.add(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("camera", [None, DepthCameraCfg()])
def test_on_a_gpu_a_step_never_waits(camera):
    cfg = EnvCfg(families=(("flat", 1.0), ("box", 1.0)), levels=2, variants=1, camera=camera)
    env = ParkourEnv(cfg, 4, engine="gpu", device="cpu")
    env.reset()
    env.step(torch.zeros(4, 12))
    with Waits(env._count) as waits:
        for _ in range(6):
            env.step(torch.zeros(4, 12))
    assert waits.seen == set()
    with waits:
        env.metrics()
    assert waits.seen  # it does notice


def test_the_cpu_engine_stays_on_the_cpu():
    with pytest.raises(UserError, match="engine cpu runs on device cpu"):
        ParkourEnv(EnvCfg(), 2, engine="cpu", device="cuda")


def test_the_configuration_parses_from_a_command_line():
    import tyro

    words = ["--families", "box", "1", "gap", "2", "--commands.forward-low-mps", "0.4"]
    words += ["--rewards.preset", "paper", "--rewards.terms", "torque", "-2e-6"]
    cfg = tyro.cli(EnvCfg, args=[*words, "--random.ranges.friction", "0.7", "1.5"])
    assert cfg.families == (("box", 1.0), ("gap", 2.0))
    assert cfg.rewards.terms == (("torque", -2e-6),)
    assert cfg.random.ranges.friction == (0.7, 1.5)
    assert cfg.camera is None
