import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from swap.courses import FAMILIES, HOLD_S, fallen, goals, held, make, reached
from swap.courses.rays import heights

FEET = np.array([(0.35, 0.2), (0.35, -0.2), (-0.35, 0.2), (-0.35, -0.2)])
FOOT_RADIUS = 0.04
SWAP_SIDES = [1, 0, 3, 2]
each_family = pytest.mark.parametrize("name", FAMILIES)


def course(name, difficulty=0.8, seed=0):
    return make(name, difficulty, np.random.default_rng(seed))


def stand(it, x, y=0.0):
    """Base and feet of a robot that stands on the course's surface, in one world."""
    plan = FEET + np.array([x, y])
    ground = heights(it, plan[:, 0], plan[:, 1])
    feet = np.column_stack([plan, ground + FOOT_RADIUS])
    base = np.array([x, y, ground.max() + 0.55])
    return tuple(torch.tensor(a[None], dtype=torch.float32) for a in (base, feet))


def succeeds(it, base, feet, gravity_z=-1.0):
    return bool(reached(goals([it]), base, torch.tensor([gravity_z]), feet))


@each_family
@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_success_is_reachable_and_only_past_the_obstacle(name, difficulty, mirrored):
    it = course(name, difficulty)
    it = it.mirror() if mirrored else it
    assert succeeds(it, *stand(it, it.goal_x + 0.9))
    assert succeeds(it, *stand(it, it.goal_x + 2.0, y=0.1))
    assert not succeeds(it, *stand(it, it.goal_x + 0.7))
    assert not succeeds(it, *stand(it, 0.0))


@pytest.mark.parametrize("name", ["box", "gap"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_success_lies_beyond_the_largest_obstacle_too(name, mirrored):
    it = course(name, FAMILIES[name].max_difficulty)
    it = it.mirror() if mirrored else it
    assert it.size == pytest.approx(FAMILIES[name].max_size)
    assert succeeds(it, *stand(it, it.goal_x + 0.9))
    assert succeeds(it, *stand(it, it.goal_x + 2.0, y=-0.5))
    assert not succeeds(it, *stand(it, it.goal_x + 0.7))
    assert not succeeds(it, *stand(it, it.goal_x - 0.5 * it.size))
    inside, ahead = it.goal_x - 0.5 * it.size, it.goal_x + 1.0
    assert heights(it, ahead, 0.0) == pytest.approx(it.size if name == "box" else 0.0)
    assert heights(it, inside, 0.0) == pytest.approx(0.0 if name == "box" else -2.0)


@each_family
def test_beside_the_lane_tipped_over_or_hanging_is_no_success(name):
    it = course(name)
    base, feet = stand(it, it.goal_x + 1.2)
    assert succeeds(it, base, feet, gravity_z=-0.75)
    assert not succeeds(it, base, feet, gravity_z=-0.65)
    beside = torch.tensor([[0.0, it.lane + 0.1, 0.0]])
    support = torch.tensor([0.0, 0.0, it.goal_tilt * (it.lane + 0.1)])
    assert not succeeds(it, base + beside, feet + beside + support)
    assert not succeeds(it, base - beside, feet - beside - support)
    for leg in range(4):
        low, high, behind = feet.clone(), feet.clone(), feet.clone()
        low[0, leg, 2] -= 0.15
        high[0, leg, 2] += 0.6
        behind[0, leg, 0] = it.goal_x - 0.05
        assert not succeeds(it, base, low)
        assert not succeeds(it, base, high)
        assert not succeeds(it, base, behind)


def test_a_foot_in_swing_does_not_break_the_hold():
    it = course("gap")
    base, feet = stand(it, it.goal_x + 1.2)
    feet[0, 1, 2] += 0.4
    assert succeeds(it, base, feet)


def test_each_world_has_its_own_goal():
    courses = [course("box", 0.0), course("box", 1.0), course("flat")]
    base, feet = (torch.cat(part) for part in zip(*[stand(courses[0], 6.0)] * 3, strict=True))
    gravity = torch.full((3,), -1.0)
    assert reached(goals(courses), base, gravity, feet).tolist() == [True, False, True]


@given(st.integers(0, 10_000))
def test_success_is_the_same_in_the_mirror_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    names = rng.choice(list(FAMILIES), 64)
    courses = [make(name, rng.uniform(), rng) for name in names]
    where = goals(courses)
    # Near every threshold, so that about half of the robots pass each test.
    base = torch.stack([where.x + 0.8, where.lane, where.z], 1)
    base += torch.tensor(rng.normal(0, 1e-6, base.shape), dtype=torch.float32)
    base[:, 1] *= torch.tensor(rng.choice([-1.0, 0.5, 1.0], 64), dtype=torch.float32)
    feet = base[:, None] + torch.tensor(rng.uniform(-0.4, 0.4, (64, 4, 3)), dtype=torch.float32)
    side = feet[:, :, 1] * where.tilt[:, None] + where.z[:, None]
    lift = torch.tensor(rng.choice([-0.05, 0.0, 0.5], (64, 4)), dtype=torch.float32)
    feet[:, :, 2] = side + lift + torch.tensor(rng.normal(0, 1e-8, (64, 4)), dtype=torch.float32)
    gravity = torch.full((64,), -1.0)
    flip = torch.tensor([1.0, -1.0, 1.0])
    mirrored = goals([it.mirror() for it in courses])
    assert torch.equal(
        reached(where, base, gravity, feet),
        reached(mirrored, base * flip, gravity, feet[:, SWAP_SIDES] * flip),
    )


def test_the_hold_counts_without_a_break():
    time = torch.zeros(2)
    for step in range(25):
        time = held(time, torch.tensor([True, step != 12]), 0.02)
    assert time[0].item() == pytest.approx(HOLD_S)
    assert time[1].item() == pytest.approx(0.24)


def test_in_a_pit_is_fallen_on_the_low_side_of_a_tilt_is_not():
    pit, low_side = torch.tensor([[3.0, 0.0, -1.4]]), torch.tensor([[3.0, -1.2, -0.43 + 0.2]])
    assert fallen(torch.cat([pit, low_side])).tolist() == [True, False]
