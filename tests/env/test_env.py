"""Tests the loop: resets one step late, observations that match the state, and that a step never
waits for a GPU."""

from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from swap.courses import make
from swap.env import (
    EndReason,
    EnvCfg,
    ObservationNoiseCfg,
    ParkourEnv,
    RandomCfg,
    StartCfg,
    TerminationCfg,
    Trials,
)
from swap.env.observation_terms import OBSERVATIONS
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


# --- observations ---------------------------------------------------------------------------------
def test_every_slice_is_what_its_name_says(w):
    env = w.small(n=3, families=(("stairs", 1.0),), noise=QUIET)
    env.reset()
    for action in random_actions(env, 12):
        step = env.step(0.3 * action)
    state, obs = env.engine.state, step.obs
    pose = torch.tensor(env.robot.default_pose)
    from mujoco import mju_mulMatTVec3, mju_quat2Mat

    lin_vel, gravity = torch.zeros(3, 3), torch.zeros(3, 3)
    for k in range(3):  # MuJoCo's own rotation as the oracle
        matrix, out = torch.zeros(9).double().numpy(), torch.zeros(3).double().numpy()
        mju_quat2Mat(matrix, state.base_quat[k].double().numpy())
        for target, vector in ((lin_vel, state.base_lin_vel[k]), (gravity, [0, 0, -1.0])):
            mju_mulMatTVec3(out, matrix, torch.as_tensor(vector).double().numpy())
            target[k] = torch.from_numpy(out.copy())
    drawn = env.engine.drawn
    wanted = {
        "ang_vel": state.base_ang_vel * OBSERVATIONS["ang_vel"].scale,
        "gravity": gravity,
        "lin_vel": lin_vel,
        "joint_pos": state.joint_pos - pose,
        "joint_vel": state.joint_vel * OBSERVATIONS["joint_vel"].scale,
        "action": env.frame_builder.action,
        "command": env.commands.value,
        "kp": (drawn.kp - 1) * 5,
        "kd": (drawn.kd - 1) * 5,
        "com_offset": drawn.com * 20,
        "mass": 5 * drawn.payload[:, None] / env.robot.mass,
        "restitution": drawn.restitution[:, None],
        "friction": drawn.friction[:, None] - 1,
        "contacts": torch.stack([state.thigh_force, state.shank_force], 2).norm(dim=-1).flatten(1)
        > 0.1,
        "terrain_heights": env.heights.terrain,
    }
    assert set(wanted) == set(env.groups["privileged"].names)
    for group in ("proprioception", "privileged", "style"):
        for name, x in env.groups[group].unpack(obs[group]).items():
            torch.testing.assert_close(x, wanted[name].float(), atol=1e-5, rtol=1e-5, msg=name)
    for name, x in env.groups["history"].unpack(obs["history"]).items():
        if name.startswith("t0."):
            torch.testing.assert_close(x, wanted[name[3:]].float(), atol=1e-5, rtol=1e-5)
    assert torch.equal(obs["command"], env.commands.value)


def test_history_is_newest_first(w):
    env = w.small(n=2)
    env.reset()
    layout, seen = env.groups["history"], []
    for action in random_actions(env, 7):
        obs = env.step(0.2 * action).obs
        seen.append(obs["history"][:, layout["t0.action"]].clone())
        torch.testing.assert_close(seen[-1], 0.2 * action)
    for k in range(5):
        assert torch.equal(obs["history"][:, layout[f"t{k}.action"]], seen[-1 - k])


def test_height_maps_equal_the_sensors_own(w):
    from swap.sensors import HeightCfg, HeightMaps

    env = w.small(n=3, families=(("rocks", 1.0),))
    env.reset()
    obs = env.step(torch.zeros(3, 12)).obs
    state, boxes = env.engine.state, env.engine.boxes
    maps = HeightMaps(HeightCfg(), 4, 3, boxes.slots)
    maps(boxes, state.base_pos, state.base_quat, state.foot_pos)
    for name, wanted in (
        ("terrain_heights", maps.terrain),
        ("body_heights", maps.body),
        ("foot_heights", maps.foot.flatten(1)),
    ):
        torch.testing.assert_close(obs[name], wanted, atol=1e-5, rtol=0)


def test_noise_is_on_what_the_robot_measures_and_on_nothing_else(w):
    noisy, quiet = w.small(n=64, seed=1), w.small(n=64, seed=1, noise=QUIET)
    a, b = noisy.reset(), quiet.reset()
    layout = noisy.groups["proprioception"]
    off = layout.unpack(a["proprioception"] - b["proprioception"])
    for name, size in (("ang_vel", 0.05), ("gravity", 0.05), ("joint_pos", 0.01)):
        assert 0.8 * size < off[name].abs().max() <= 1.01 * size, name
    assert 0.06 < off["joint_vel"].abs().max() <= 0.0751
    assert (off["command"] == 0).all()
    for name in (
        "privileged",
        "style",
        "terrain_heights",
        "body_heights",
        "foot_heights",
        "command",
    ):
        assert torch.equal(a[name], b[name]), name


def test_actions_are_clipped_before_anything_reads_them(w):
    env = w.small(n=1, action_clip=2.0)
    env.reset()
    obs = env.step(torch.full((1, 12), 50.0)).obs
    assert (obs["privileged"][:, env.groups["privileged"]["action"]] == 2.0).all()


def test_depth_images_come_every_fifth_step_and_at_once_after_a_reset(w):
    env = w.small(
        n=2, families=(("box", 1.0),), camera=DepthCameraCfg(), random=RandomCfg(FIXED, 0)
    )
    obs = env.reset()
    assert obs["depth_clean"].shape == obs["depth_noisy"].shape == (2, 64, 64)
    assert (obs["depth_clean"] < 1).any()
    env.frame_builder.steps[0] = 997
    changes = []
    last = obs["depth_noisy"].clone()  # its noise is new with every image
    for _ in range(10):
        noisy = env.step(0.5 * torch.ones(2, 12)).obs["depth_noisy"]
        changes.append((noisy != last).flatten(1).any(1).tolist())
        last = noisy.clone()
    assert [pair[1] for pair in changes] == [k in (5, 10) for k in range(1, 11)]
    assert [pair[0] for pair in changes] == [k in (4, 5, 10) for k in range(1, 11)]
    assert "depth_clean" not in w.small().reset()


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


# --- trials ---------------------------------------------------------------------------------------
def test_trials_run_once_on_the_courses_given():
    import numpy as np

    courses = [make(name, 0.0, np.random.default_rng(0)) for name in ("flat", "box", "gap")]
    cfg = EnvCfg(noise=QUIET, start=StartCfg(0, 0, 0, 0, 0, 0, 0, 0), random=RandomCfg(FIXED, 0))
    env = Trials(cfg, courses, each=2, command=(1.0, 0.0, 0.0), time_s=3.0)
    obs = env.reset()
    assert env.n == 6
    assert env.engine.course_id.tolist() == [0, 0, 1, 1, 2, 2]
    assert obs["command"].tolist() == [[1.0, 0.0, 0.0]] * 6
    assert torch.equal(obs["history"][0], obs["history"][1])
    ends = []
    while not env.finished:
        ends.append(env.step(torch.zeros(6, 12)).info["reason"])
        assert len(ends) < 155
    total = torch.stack(ends).ne(0).sum(0)
    assert (total == 1).all()  # one end each, then idle
    told = env.outcome()
    assert told.reason.tolist() == [EndReason.STALLED] * 6
    assert not told.success.any()
    assert told.time_s.min() >= 2.0
    assert env.metrics()["success/gap"] == 0
    after = env.step(torch.ones(6, 12))
    assert not after.valid.any()
    assert (after.reward == 0).all()
    assert "reward/step" not in env.metrics()  # nobody does anything any more
    assert torch.equal(env.outcome().time_s, told.time_s)
    env.reset()
    assert not env.finished
    assert not env.outcome().reason.any()


def test_a_trial_beyond_its_goal_succeeds():
    import numpy as np

    course = replace(make("flat", 0.0, np.random.default_rng(0)), goal_x=-2.0)
    env = Trials(EnvCfg(), [course], each=3)
    env.reset()
    for _ in range(40):
        env.step(torch.zeros(3, 12))
    assert env.finished
    assert env.outcome().success.all()
    assert env.outcome().time_s.max() < 0.8


def test_the_configuration_parses_from_a_command_line():
    import tyro

    words = ["--families", "box", "1", "gap", "2", "--commands.forward-low-mps", "0.4"]
    words += ["--rewards.preset", "paper", "--rewards.terms", "torque", "-2e-6"]
    cfg = tyro.cli(EnvCfg, args=[*words, "--random.ranges.friction", "0.7", "1.5"])
    assert cfg.families == (("box", 1.0), ("gap", 2.0))
    assert cfg.rewards.terms == (("torque", -2e-6),)
    assert cfg.random.ranges.friction == (0.7, 1.5)
    assert cfg.camera is None
