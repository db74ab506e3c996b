"""Computes the joint speeds and torques that a clip needs, whether the robot has them, and joint
targets that play the clip."""

import numpy as np

from swap.motions.clip import Clip
from swap.robots import Robot, feet_in_base

SPEED_FRACTION = 0.8
"""Largest speed of a joint, as a share of its no-load speed."""
TORQUE_FRACTION = 1.0
"""Largest torque of a joint, as a share of its peak torque."""
ROOM_RAD = 0.02
"""Least distance of a joint from the end of its range."""
NUDGE_RAD = 1e-5


def is_feasible(robot: Robot, clip: Clip) -> bool:
    """Whether the robot's joints can perform the clip."""
    return (
        speed_fraction(robot, clip) <= SPEED_FRACTION  # False for NaN: a foot out of reach
        and torque_fraction(robot, clip) <= TORQUE_FRACTION
        and room_rad(robot, clip) >= ROOM_RAD
    )


def speed_fraction(robot: Robot, clip: Clip) -> float:
    """The fastest joint, as a share of its no-load speed."""
    no_load = np.array([joint.motor.speed for joint in robot.joints])
    return float((np.abs(clip.joint_vel) / no_load).max())


def torque_fraction(robot: Robot, clip: Clip) -> float:
    """The joint that works hardest, as a share of its peak torque."""
    peak = np.array([joint.motor.torque for joint in robot.joints])
    return float((np.abs(torques(robot, clip)) / peak).max())


def room_rad(robot: Robot, clip: Clip) -> float:
    """The least distance of any joint from the ends of its range; negative beyond them."""
    low, high = np.array([joint.range for joint in robot.joints]).T
    angle = clip.joint_pos + robot.default_pose
    return float(np.minimum(angle - low, high - angle).min())


def torques(robot: Robot, clip: Clip) -> np.ndarray:
    """[T, 12] Nm: the joint torques that balance the forces at the feet, with massless legs."""
    q = clip.joint_pos + robot.default_pose
    out = np.zeros_like(q)
    for k, nudge in enumerate(np.eye(len(robot.joints)) * NUDGE_RAD):
        moves = (feet_in_base(robot, q + nudge) - feet_in_base(robot, q - nudge)) / (2 * NUDGE_RAD)
        out[:, k] = -(moves * clip.push_b).sum((-2, -1))
    return out


def targets(robot: Robot, clip: Clip) -> np.ndarray:
    """[T, 12] rad: PD targets that give the planned torques when the robot follows the clip."""
    ahead = (torques(robot, clip) + robot.kd * clip.joint_vel) / robot.kp
    return clip.joint_pos + robot.default_pose + ahead
