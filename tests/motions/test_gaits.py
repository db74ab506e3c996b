"""The touchdown times give the gaits that their names say, and clips follow them."""

from itertools import pairwise

import numpy as np
import pytest

from swap.errors import UserError
from swap.motions import GAITS, GaitCommand, Motion, get_gait
from swap.motions.gaits import MIRRORED
from swap.motions.sway import GRAVITY, pushes
from swap.motions.timing import scale_of, scaled
from swap.robots import load

FL, FR, RL, RR = range(4)
APOLLO, GO2 = load("apollo"), load("go2")


def stands(name, speed=None, robot=APOLLO):
    gait = get_gait(name)
    motion = Motion(robot, gait, scaled(robot, GaitCommand(speed or gait.forward_mps[-1])))
    return motion.clip(6.0).stands


def footfalls(name):
    """Legs in the order in which they come down; legs that come down together form one set."""
    down = stands(name)
    events = []
    for before, now in pairwise(down):
        landed = frozenset(np.flatnonzero(now & ~before))
        if landed:
            events.append(landed)
    return events


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("trot", [{FL, RR}, {FR, RL}]),
        ("pace", [{FL, RL}, {FR, RR}]),
        ("bound", [{FL, FR}, {RL, RR}]),
        ("pronk", [{FL, FR, RL, RR}]),
    ],
)
def test_legs_of_a_pair_move_together(name, pairs):
    down = stands(name)
    for pair in pairs:
        first, *others = pair
        for other in others:
            assert (down[:, first] == down[:, other]).all()
    events = footfalls(name)
    assert set(events) == {frozenset(pair) for pair in pairs}
    assert len(events) > 6
    if len(pairs) > 1:
        assert all(a != b for a, b in pairwise(events))


def test_walk_has_the_fore_foot_follow_the_hind_foot_of_its_side():
    after = {RL: FL, FL: RR, RR: FR, FR: RL}
    events = footfalls("walk")
    assert all(len(event) == 1 for event in events)
    for (a,), (b,) in pairwise(events):
        assert after[a] == b
    assert stands("walk").sum(1).min() == 2


@pytest.mark.parametrize(
    ("name", "first", "lead"), [("canter_left", RR, FL), ("canter_right", RL, FR)]
)
def test_canter_is_hind_then_diagonal_then_leading_fore(name, first, lead):
    events = [event for event in footfalls(name) if event != {first}]
    pair = frozenset({FL, FR, RL, RR} - {first, lead})
    assert set(events) == {pair, frozenset({lead})}
    assert {*pair} in ({FL, RR}, {FR, RL})
    order = footfalls(name)
    start = order.index(frozenset({first}))
    assert order[start : start + 3] == [{first}, pair, {lead}]


def test_the_leads_mirror_each_other():
    left, right = get_gait("canter_left"), get_gait("canter_right")
    swapped = [left.touchdown[k] for k in (FR, FL, RR, RL)]
    assert list(right.touchdown) == swapped
    assert right.turn_rps == tuple(-w or 0.0 for w in left.turn_rps)
    for what in ("frequency_hz", "duty", "duty_range", "forward_mps", "lift_m"):
        assert getattr(left, what) == getattr(right, what)
    assert MIRRORED == {"canter_left": "canter_right", "canter_right": "canter_left"}


@pytest.mark.parametrize("gait", [g for g in GAITS if g.name not in MIRRORED], ids=lambda g: g.name)
def test_the_other_gaits_are_their_own_mirror_image_half_a_cycle_or_none_later(gait):
    here = np.array(gait.touchdown)
    there = here[[FR, FL, RR, RL]]
    assert any(((here - there - shift) % 1 == 0).all() for shift in (0.0, 0.5))


@pytest.mark.parametrize("robot", [APOLLO, GO2], ids=lambda r: r.name)
@pytest.mark.parametrize("gait", GAITS, ids=lambda g: g.name)
def test_feet_carry_the_weight_and_the_body_falls_when_none_does(robot, gait):
    motion = Motion(robot, gait, scaled(robot, GaitCommand(gait.forward_mps[-1])))
    cycle = np.linspace(0, 1, 2000, endpoint=False)
    push = pushes(motion.timing, cycle).sum(0)
    assert push.mean() == pytest.approx(1, rel=1e-3)
    up = motion.sway.acceleration(cycle / motion.timing.frequency_hz)[2]
    if not gait.stands:
        # Eight harmonics reproduce the push except at its kinks.
        assert np.sqrt(np.mean((up / GRAVITY - (push - 1)) ** 2)) < 0.1


def test_a_smaller_robot_moves_in_a_similar_way():
    k = scale_of(GO2)
    assert 0.5 < k < 0.65
    trot, big = get_gait("trot"), GaitCommand(1.0, 0.0, 0.5)
    small = scaled(GO2, big)
    assert small.forward_mps == pytest.approx(k**0.5)
    assert small.turn_rps == pytest.approx(0.5 / k**0.5)
    ours, theirs = Motion(APOLLO, trot, big).timing, Motion(GO2, trot, small).timing
    assert theirs.frequency_hz == pytest.approx(ours.frequency_hz / k**0.5, rel=0.01)
    assert theirs.lift_m == pytest.approx(ours.lift_m * k, rel=0.01)
    assert theirs.duty == pytest.approx(ours.duty, abs=0.01)


def test_an_unknown_gait_lists_close_ones():
    with pytest.raises(UserError, match="unknown gait 'trott'; did you mean 'trot'"):
        get_gait("trott")
