"""Joint angles -> where hips, knees and feet are, in plain numpy for any robot of this room."""

import numpy as np
from numpy.typing import ArrayLike

from swap.robots.robot import AXES, Robot


def turning(robot: Robot) -> np.ndarray:
    """+1 or -1 for each joint [4, 3]: whether it turns the positive way about its coordinate."""
    return np.array(
        [[j.axis[k] for j, k in zip(leg.joints, AXES, strict=True)] for leg in robot.legs]
    )


def leg_points_in_base(robot: Robot, joint_pos: ArrayLike) -> np.ndarray:
    """Angles [..., 12] -> hip joint, knee joint and foot centre of each leg [..., 4, 3, 3]."""
    legs = robot.legs
    q = np.asarray(joint_pos, float)
    abad, hip, knee = np.moveaxis(
        q.reshape(*q.shape[:-1], 4, 3) * turning(robot), -1, 0
    )  # [..., 4] each
    y, thigh, shank = np.array([(leg.offset, leg.thigh, leg.shank) for leg in legs]).T
    # Hip, knee and foot in the leg's plane, x ahead and z up, before the abad turns it about x.
    x = np.zeros((*abad.shape, 3))
    z = np.zeros_like(x)
    x[..., 1], z[..., 1] = -thigh * np.sin(hip), -thigh * np.cos(hip)
    x[..., 2] = x[..., 1] - shank * np.sin(hip + knee)
    z[..., 2] = z[..., 1] - shank * np.cos(hip + knee)
    c, s = np.cos(abad)[..., None], np.sin(abad)[..., None]
    points = np.stack([x, c * y[:, None] - s * z, s * y[:, None] + c * z], -1)
    return points + np.array([leg.mount for leg in legs])[:, None]


def feet_in_base(robot: Robot, joint_pos: ArrayLike | None = None) -> np.ndarray:
    """Foot centres [..., 4, 3]; without angles, those of the default pose."""
    pose = robot.default_pose if joint_pos is None else joint_pos
    return leg_points_in_base(robot, pose)[..., 2, :]


def leg_points_in_world(
    robot: Robot, base_pos: np.ndarray, base_quat: np.ndarray, joint_pos: np.ndarray
) -> np.ndarray:
    """The same points in the world [..., 4, 3, 3], for a base at [..., 3] turned by [..., 4]."""
    points = leg_points_in_base(robot, joint_pos)
    w, v = base_quat[..., None, None, :1], base_quat[..., None, None, 1:]
    t = 2 * np.cross(v, points)
    return base_pos[..., None, None, :] + points + w * t + np.cross(v, t)
