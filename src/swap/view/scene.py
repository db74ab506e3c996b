"""Collects what is visible of one world, as small arrays on the host.

The robot is drawn as the spheres and capsules that physics collides, and a housing from each abad
joint to its hip, without which legs would hang in the air.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from swap.courses.blocks import matrix_of
from swap.courses.course import Boxes
from swap.errors import UserError
from swap.robots import Robot
from swap.sim import State

PARTS = ("housing", "thigh", "shank", "foot")
"""The parts of a leg that are drawn."""


@dataclass(frozen=True)
class Scene:
    """Boxes and capsules in the world, and the base that cameras follow."""

    pos: np.ndarray  # [B, 3] centres of the boxes in use
    quat: np.ndarray  # [B, 4]
    half: np.ndarray  # [B, 3]
    start: np.ndarray  # [K, 3] capsules: the trunk's, then the PARTS of each leg
    end: np.ndarray  # [K, 3]
    base_pos: np.ndarray  # [3]
    base_rot: np.ndarray  # [3, 3] columns are ahead, left and up of the base
    base_vel: np.ndarray  # [3] world
    time_s: float

    @property
    def forward_speed(self) -> float:
        """Along the robot's nose, m/s."""
        return float(self.base_rot[:, 0] @ self.base_vel)


def scene_of(robot: Robot, state: State, boxes: Boxes, world: int) -> Scene:
    """Copies one world, about 400 numbers, to the host; waits for the device."""
    n = len(state.base_pos)
    if not 0 <= world < n or boxes.n != n:
        raise UserError(f"world {world} of {n} states and {boxes.n} sets of boxes; use 0..{n - 1}")
    used = int(boxes.count[world])
    base_pos = _host(state.base_pos[world])
    rot = matrix_of(_host(state.base_quat[world]))
    legs = _host(state.leg_pos[world])  # [4, hip knee foot, 3]
    trunk = np.array([(shape.a, shape.b) for shape in robot.trunk_shapes])  # [T, 2, 3]
    mounts = np.array([leg.mount for leg in robot.legs])[:, None]
    points = np.concatenate([base_pos + mounts @ rot.T, legs], 1)  # [4, abad hip knee foot, 3]
    links = points[:, [[0, 1], [1, 2], [2, 3], [3, 3]]].reshape(-1, 2, 3)
    ends = np.concatenate([base_pos + trunk @ rot.T, links])
    return Scene(
        pos=_host(boxes.pos[world, :used]),
        quat=_host(boxes.quat[world, :used]),
        half=_host(boxes.half[world, :used]),
        start=ends[:, 0],
        end=ends[:, 1],
        base_pos=base_pos,
        base_rot=rot,
        base_vel=_host(state.base_lin_vel[world]),
        time_s=float(state.time[world]),
    )


def radii(robot: Robot) -> np.ndarray:
    """Radii of the capsules of a scene, in their order [K]."""
    trunk = [shape.radius for shape in robot.trunk_shapes]
    legs = [
        (leg.thigh_radius, leg.thigh_radius, leg.shank_radius, leg.foot_radius)
        for leg in robot.legs
    ]
    return np.array([*trunk, *np.ravel(legs)])


def _host(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype(np.float64)
