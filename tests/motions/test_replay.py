"""In physics, a clip's joint targets, played open-loop, keep a robot upright and move it."""

import numpy as np
import pytest

from swap.errors import UserError
from swap.motions import GaitCommand, Motion, get_gait, replay, scaled
from swap.robots import load

JOBS = {
    "apollo": [("trot", 0.3), ("trot", 0.6), ("walk", 0.4), ("bound", 1.5), ("stand", 0.0)],
    "go2": [("trot", 0.3), ("trot", 1.0), ("walk", 0.2), ("bound", 1.5), ("stand", 0.0)],
}


@pytest.mark.parametrize("name", JOBS)
def test_it_stays_up_and_moves_as_fast_as_asked(name):
    robot, seconds = load(name), 4.0
    several = [
        Motion(robot, get_gait(gait), scaled(robot, GaitCommand(speed))).clip(seconds)
        for gait, speed in JOBS[name]
    ]
    for clip, end in zip(several, replay(robot, several), strict=True):
        asked, got = clip.command.forward_mps, end.moved_m[0] / seconds
        assert end.upright_s == pytest.approx(seconds), clip.gait
        assert got == pytest.approx(asked, rel=0.3, abs=0.03), clip.gait
        assert abs(end.turned_rad) < 0.3


def test_it_turns_to_the_side_it_was_told():
    robot = load("apollo")
    clip = Motion(robot, get_gait("trot"), GaitCommand(0.3, 0.0, 0.5)).clip(4.0)
    left, right = replay(robot, [clip, clip.mirrored(robot)])
    assert left.upright_s == right.upright_s == pytest.approx(4.0)
    assert left.turned_rad == pytest.approx(2.0, rel=0.3)
    assert right.turned_rad == pytest.approx(-left.turned_rad, abs=0.05)


def test_a_robot_that_cannot_stay_up_is_seen_to_fall():
    """With targets that fold the knees it falls at once."""
    from dataclasses import replace

    robot = load("apollo")
    clip = Motion(robot, get_gait("stand"), GaitCommand()).clip(2.0)
    folded = clip.joint_pos + np.tile([0.0, 0.0, -1.2], 4)
    (end,) = replay(robot, [replace(clip, joint_pos=folded, push_b=0 * clip.push_b)])
    assert end.upright_s < 1.0


def test_clips_of_two_lengths_are_refused():
    robot = load("apollo")
    several = [Motion(robot, get_gait("stand"), GaitCommand()).clip(s) for s in (0.5, 1.0)]
    with pytest.raises(UserError, match="one length"):
        replay(robot, several)
