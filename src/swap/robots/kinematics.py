"""Computes positions of hips, knees and feet from joint angles, in numpy, for any `Robot`."""

import numpy as np
from numpy.typing import ArrayLike

from swap.robots.parts import AXES
from swap.robots.robot import Robot


def axis_signs(robot: Robot) -> np.ndarray:
    """+1 or -1 for each joint [4, 3]: the sign of its axis along x or y."""
    return np.array(
        [[j.axis[k] for j, k in zip(leg.joints, AXES, strict=True)] for leg in robot.legs]
    )


class LegPoints:
    """Computes hip joint, knee joint and foot centre of each leg. Make it once if you need them
    often: it keeps x, y and z in separate arrays, with which numpy is fastest."""

    def __init__(self, robot: Robot) -> None:
        legs = robot.legs
        self._axis_signs = axis_signs(robot)
        self._offset, self._thigh, self._shank = np.array(
            [(leg.offset, leg.thigh, leg.shank) for leg in legs]
        ).T
        self._mount = np.array([leg.mount for leg in legs]).T[..., None]  # [3, 4, 1]

    def in_base(self, joint_pos: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y and z, [..., 4, 3] each, of each leg's three points, for angles [..., 12]."""
        q = np.asarray(joint_pos, float)
        turned = q.reshape(*q.shape[:-1], 4, 3) * self._axis_signs
        abad, hip, both = turned[..., 0], turned[..., 1], turned[..., 1] + turned[..., 2]
        # Hip, knee and foot in the leg's plane (x forward, z up) before abad rotates it about x.
        x = np.zeros((*abad.shape, 3))
        z = np.zeros_like(x)
        x[..., 1], z[..., 1] = -self._thigh * np.sin(hip), -self._thigh * np.cos(hip)
        x[..., 2] = x[..., 1] - self._shank * np.sin(both)
        z[..., 2] = z[..., 1] - self._shank * np.cos(both)
        c, s, y = np.cos(abad)[..., None], np.sin(abad)[..., None], self._offset[:, None]
        mount = self._mount
        return x + mount[0], c * y - s * z + mount[1], s * y + c * z + mount[2]

    def in_world(self, pos: np.ndarray, quat: np.ndarray, joint_pos: np.ndarray) -> np.ndarray:
        """The same points in the world, [..., 4, 3, 3], for base positions [..., 3] and quaternions
        [..., 4]."""
        x, y, z = self.in_base(joint_pos)
        w, a, b, c = (quat[..., k, None, None] for k in range(4))
        # p + w t + v x t, with t = 2 v x p.
        t, u, v = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
        out = np.empty((*x.shape, 3))
        out[..., 0] = pos[..., 0, None, None] + x + w * t + (b * v - c * u)
        out[..., 1] = pos[..., 1, None, None] + y + w * u + (c * t - a * v)
        out[..., 2] = pos[..., 2, None, None] + z + w * v + (a * u - b * t)
        return out


def leg_points_in_base(robot: Robot, joint_pos: ArrayLike) -> np.ndarray:
    """Hip joint, knee joint and foot centre of each leg, [..., 4, 3, 3], for angles [..., 12]."""
    return np.stack(LegPoints(robot).in_base(joint_pos), -1)


def feet_in_base(robot: Robot, joint_pos: ArrayLike | None = None) -> np.ndarray:
    """Foot centres [..., 4, 3]; without angles, those of the default pose."""
    pose = robot.default_pose if joint_pos is None else joint_pos
    return leg_points_in_base(robot, pose)[..., 2, :]


def leg_points_in_world(
    robot: Robot, base_pos: np.ndarray, base_quat: np.ndarray, joint_pos: np.ndarray
) -> np.ndarray:
    """The three points of each leg in the world [..., 4, 3, 3]."""
    return LegPoints(robot).in_world(base_pos, base_quat, joint_pos)
