"""Episodes end when they should, on made-up frames and with robots put where it must happen."""

import pytest
import torch

from swap.courses import Goals
from swap.env import EndReason, TerminationCfg
from swap.env.terminations import Terminations
from swap.robots import load
from swap.sim import Start

WEIGHT = load("apollo").mass * 9.81
CASES = [
    ({}, EndReason.RUNNING),
    ({"steps": 999}, EndReason.RUNNING),
    ({"steps": 1000}, EndReason.TIME),
    ({"held_s": 0.48}, EndReason.RUNNING),
    ({"held_s": 0.5}, EndReason.SUCCESS),
    ({"base_pos": [-31.0, 0, 0.6], "has_goal": False}, EndReason.STRAYED),
    ({"base_pos": [31.0, 0, 0.6]}, EndReason.RUNNING),
    ({"failed": True, "base_pos": [0, 0, -1]}, EndReason.DIVERGED),
    ({"base_pos": [0, 0, -0.9]}, EndReason.FALLEN),
    ({"gravity_b": [0, 0.9, 0.4], "flat": False}, EndReason.UPSIDE_DOWN),
    ({"gravity_b": [0, 0.9, 0.2], "flat": False}, EndReason.RUNNING),
    ({"gravity_b": [0, 0.98, -0.2]}, EndReason.UPSIDE_DOWN),
    ({"trunk_force": 2.0}, EndReason.TRUNK),
    ({"trunk_force": 2.0 * WEIGHT, "flat": False}, EndReason.RUNNING),
    ({"trunk_force": 3.1 * WEIGHT, "flat": False}, EndReason.TRUNK),
    ({"base_pos": [0, 2.1, 0.6]}, EndReason.OFF_LANE),
    ({"base_pos": [0, -2.1, 0.6]}, EndReason.OFF_LANE),
    ({"base_pos": [0, 2.1, 0.6], "has_goal": False}, EndReason.RUNNING),
    ({"stalled_s": 2.0}, EndReason.STALLED),
    ({"stalled_s": 1.98}, EndReason.RUNNING),
    ({"held_s": 0.5, "stalled_s": 2.0, "steps": 1000}, EndReason.SUCCESS),
    ({"held_s": 0.5, "base_pos": [0, 0, -0.9]}, EndReason.FALLEN),
]


@pytest.mark.parametrize(("values", "wanted"), CASES)
def test_ends_and_what_they_mean(values, wanted, w):
    zero = torch.zeros(2)
    goals = Goals(zero, zero, zero, torch.full((2,), 2.0))
    alive = torch.tensor([True, False])
    verdict = Terminations(TerminationCfg(), load("apollo"))(w.frame(2, **values), goals, alive)
    assert verdict.reason.tolist() == [wanted, EndReason.RUNNING]
    assert verdict.terminated.tolist() == [wanted >= EndReason.FALLEN, False]
    assert verdict.truncated.tolist() == [0 < wanted < EndReason.FALLEN, False]
    assert verdict.success.tolist() == [wanted == EndReason.SUCCESS, False]


def test_a_robot_may_be_let_wait_for_ever(w):
    zero = torch.zeros(1)
    ends = Terminations(TerminationCfg(stall_s=None), load("apollo"))
    frame = w.frame(1, stalled_s=1e6)
    goals = Goals(zero, zero, zero, torch.full((1,), 2.0))
    assert ends(frame, goals, torch.tensor([True])).reason.tolist() == [EndReason.RUNNING]


def put(env, world: int, **values) -> None:
    """Put one robot somewhere else."""
    s = env.engine.state
    start = Start(
        base_pos=s.base_pos.clone(),
        base_quat=s.base_quat.clone(),
        base_lin_vel=s.base_lin_vel.clone(),
        base_ang_vel=s.base_ang_vel.clone(),
        joint_pos=s.joint_pos.clone(),
        joint_vel=s.joint_vel.clone(),
    )
    for name, value in values.items():
        getattr(start, name)[world] = torch.tensor(value)
    mask = torch.zeros(env.n, dtype=torch.bool)
    mask[world] = True
    env.engine.reset(mask, start)


def still(env):
    return env.step(torch.zeros(env.n, 12))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"base_pos": [0.0, 0.0, -1.5]}, EndReason.FALLEN),
        ({"base_quat": [0.0, 1.0, 0.0, 0.0], "base_pos": [0.0, 0.0, 1.5]}, EndReason.UPSIDE_DOWN),
        ({"base_pos": [0.0, 2.2, 0.65]}, EndReason.OFF_LANE),
        ({"base_quat": [0.96, 0.0, 0.28, 0.0], "base_pos": [0.0, 0.0, 0.28]}, EndReason.TRUNK),
    ],
)
def test_a_robot_put_there_is_at_its_end(values, wanted, w):
    env = w.small(families=(("box", 1.0),))
    env.reset()
    still(env)
    put(env, 1, **values)
    step = still(env)
    assert step.info["reason"].tolist() == [0, wanted, 0, 0]
    assert step.terminated.tolist() == [False, True, False, False]


def test_success_is_held_half_a_second_and_is_no_terminal(w):
    env = w.small(n=2, families=(("box", 1.0),))
    env.reset()
    goal = env.goals
    place = [float(goal.x[0]) + 1.0, 0.0, float(goal.z[0]) + 0.58]
    pose = list(env.robot.default_pose)
    put(env, 0, base_pos=place, base_quat=[1.0, 0, 0, 0], joint_pos=pose)
    before = env.curriculum.frontier.clone()
    steps = 0
    while True:
        step = still(env)
        steps += 1
        if step.info["reason"][0]:
            break
        assert steps < 40
    assert step.info["reason"][0] == EndReason.SUCCESS
    assert steps == pytest.approx(25, abs=2)
    assert step.truncated[0]
    assert not step.terminated[0]
    assert env.curriculum.frontier[0] == before[0] + 1
    assert env.curriculum.frontier[1] == before[1]


def test_who_waits_at_the_wall_has_failed_after_two_seconds(w):
    env = w.small(n=1, families=(("box", 1.0),))
    env.reset()
    steps = [still(env)]
    while not steps[-1].info["reason"][0]:
        steps.append(still(env))
        assert len(steps) < 130  # it may drift a little at first
    assert steps[-1].info["reason"][0] == EndReason.STALLED
    assert steps[-1].terminated[0]
    assert len(steps) >= 99


def test_free_worlds_may_stand_as_long_as_they_like(w):
    env = w.small(n=2)
    env.reset()
    env.commands.hold(torch.tensor([True, True]), (0.0, 0.0, 0.0))
    env.commands.free = torch.tensor([True, True])
    for _ in range(130):
        step = still(env)
        assert not step.info["reason"].any()
