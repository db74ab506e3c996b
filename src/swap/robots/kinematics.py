"""Joint angles -> where hips, knees and feet are, in plain numpy for any robot of this room."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from swap.robots.robot import Robot


def leg_points_in_base(robot: "Robot", joint_pos: ArrayLike) -> np.ndarray:
    """Angles [..., 12] -> hip joint, knee joint and foot centre of each leg [..., 4, 3, 3]."""
    q = np.asarray(joint_pos, float)
    q = q.reshape(*q.shape[:-1], 4, 3)
    points = np.empty((*q.shape[:-1], 3, 3))
    for i, leg in enumerate(robot.legs):
        sign = [joint.axis[k] for joint, k in zip(leg.joints, (0, 1, 1), strict=True)]
        abad, hip, knee = (sign[k] * q[..., i, k] for k in range(3))
        zero = np.zeros_like(abad)
        # In the leg's plane: x ahead, z up, before the abad turns it about x.
        along = np.stack([zero, zero + leg.offset, zero], -1)
        to_knee = leg.thigh * np.stack([-np.sin(hip), zero, -np.cos(hip)], -1)
        to_foot = leg.shank * np.stack([-np.sin(hip + knee), zero, -np.cos(hip + knee)], -1)
        plane = np.stack([along, along + to_knee, along + to_knee + to_foot], -2)  # [..., 3, 3]
        c, s = np.cos(abad)[..., None], np.sin(abad)[..., None]
        points[..., i, :, 0] = leg.mount[0] + plane[..., 0]
        points[..., i, :, 1] = leg.mount[1] + c * plane[..., 1] - s * plane[..., 2]
        points[..., i, :, 2] = leg.mount[2] + s * plane[..., 1] + c * plane[..., 2]
    return points


def feet_in_base(robot: "Robot", joint_pos: ArrayLike | None = None) -> np.ndarray:
    """Foot centres [..., 4, 3]; without angles, those of the default pose."""
    pose = robot.default_pose if joint_pos is None else joint_pos
    return leg_points_in_base(robot, pose)[..., 2, :]


def leg_points_in_world(
    robot: "Robot", base_pos: np.ndarray, base_quat: np.ndarray, joint_pos: np.ndarray
) -> np.ndarray:
    """The same points in the world [..., 4, 3, 3], for a base at [..., 3] turned by [..., 4]."""
    points = leg_points_in_base(robot, joint_pos)
    w, v = base_quat[..., None, None, :1], base_quat[..., None, None, 1:]
    t = 2 * np.cross(v, points)
    return base_pos[..., None, None, :] + points + w * t + np.cross(v, t)
