"""Compares inverse kinematics with forward kinematics."""

from dataclasses import replace

import numpy as np
import pytest

from swap.robots import Robot, feet_in_base, load
from swap.robots.inverse_kinematics import angles_for_feet
from swap.robots.kinematics import axis_signs


def twisted() -> Robot:
    """Right legs modelled with their axes the other way round, and unequal links."""
    robot = load("apollo")
    legs = []
    for leg in robot.legs:
        joints = leg.joints
        if leg.mount[1] < 0:
            joints = tuple(
                replace(
                    joint,
                    axis=tuple(-a if a else 0.0 for a in joint.axis),
                    range=(-joint.range[1], -joint.range[0]),
                    default=-joint.default or 0.0,
                )
                for joint in joints
            )
        legs.append(replace(leg, joints=joints, thigh=0.30, shank=0.37))
    return replace(robot, name="twisted", legs=tuple(legs))


ROBOTS = pytest.mark.parametrize(
    "robot", [load("apollo"), load("go2"), twisted()], ids=lambda r: r.name
)


@ROBOTS
def test_angles_come_back(robot):
    """Holds for any angles in range for which the leg hangs below its abad axis."""
    low, high = np.array([joint.range for joint in robot.joints]).T
    q = np.random.default_rng(0).uniform(low, high, (2000, 12))
    feet = feet_in_base(robot, q)
    back = angles_for_feet(robot, feet)
    _, hip, knee = np.moveaxis(q.reshape(-1, 4, 3) * axis_signs(robot), -1, 0)
    thigh, shank = np.array([(leg.thigh, leg.shank) for leg in robot.legs]).T
    hangs = thigh * np.cos(hip) + shank * np.cos(hip + knee) > 1e-3
    assert 0.3 < hangs.mean() < 0.9
    assert np.abs((back - q).reshape(-1, 4, 3)[hangs]).max() < 1e-9
    # Above its axis the leg takes another pose, with the foot in the same place.
    assert np.abs(feet_in_base(robot, back) - feet).max() < 1e-9


@ROBOTS
def test_a_point_out_of_reach_is_nan_for_that_leg_alone(robot):
    feet = feet_in_base(robot)
    feet[2, 2] -= 1.0
    angles = angles_for_feet(robot, feet).reshape(4, 3)
    assert np.isnan(angles[2]).all()
    assert np.allclose(np.delete(angles, 2, 0).ravel(), np.delete(robot.default_pose, [6, 7, 8]))


@ROBOTS
def test_mirrored_points_give_mirrored_angles_to_the_last_bit(robot):
    legs, joints = robot.body.leg_rep, robot.body.joint_rep
    feet = feet_in_base(robot) + np.random.default_rng(1).uniform(-0.05, 0.05, (500, 4, 3))
    mirrored = feet[:, list(legs.perm)] * [1, -1, 1]
    there = angles_for_feet(robot, mirrored)
    here = angles_for_feet(robot, feet)[:, list(joints.perm)] * np.array(joints.sign)
    assert not np.isnan(here).any()
    assert np.array_equal(here, there)
