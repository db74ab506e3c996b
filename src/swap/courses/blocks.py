"""Defines the few shapes that every obstacle is built from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

BEHIND_M = 2.0
"""Length of the ground behind the start."""
RUN_UP_M = (3.0, 4.0)
LANDING_M = (3.0, 4.0)
MARGIN_M = 1.0
"""Obstacles reach this far beyond the lane, so that a robot cannot walk round them inside it."""
PIT_Z = -2.0
"""Floor of a pit. Ground inside a lane is far above `success.FALLEN_Z`, the pit floor far below."""
OVERLAP_M = 0.5
"""Neighbouring boxes overlap by this, never meet edge to edge: a seam could catch a foot."""
THICK_M = 0.5

Interval = tuple[float, float]


@dataclass(frozen=True)
class SizeRange:
    """A range of sizes, low at difficulty 0 and high at difficulty 1, linear between and beyond."""

    low: float
    high: float
    unit: str

    def at(self, difficulty: float) -> float:
        return self.low * (1.0 - difficulty) + self.high * difficulty

    def fraction(self, size: float) -> float:
        """The inverse of `at`; 0 where there is only one size."""
        return (size - self.low) / (self.high - self.low) if self.low < self.high else 0.0

    def label(self, size: float) -> str:
        """The size as text: `0.73 m`, `42 deg`."""
        return f"{size:.2f} {self.unit}" if self.unit == "m" else f"{size:.0f} {self.unit}"


class Block(NamedTuple):
    """One box: centre, orientation (w, x, y, z), half sizes."""

    pos: np.ndarray
    quat: np.ndarray
    half: np.ndarray


@dataclass(frozen=True)
class Obstacle:
    """What an obstacle's function returns: boxes, and where success lies (see `Course`)."""

    blocks: Sequence[Block]
    goal_x: float
    lane: float
    goal_z: float = 0.0
    goal_tilt: float = 0.0
    start_z: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True)
class Plane:
    """z = z0 + slope_x (x - x0) + slope_y y."""

    z0: float = 0.0
    slope_x: float = 0.0
    slope_y: float = 0.0
    x0: float = 0.0

    def lift(self, xy: np.ndarray) -> np.ndarray:
        """Points on the plane [k, 3] above plan points [k, 2]."""
        z = self.z0 + self.slope_x * (xy[:, 0] - self.x0) + self.slope_y * xy[:, 1]
        return np.column_stack([xy, z])


def slab(x: Interval, y: Interval, z: Interval) -> Block:
    """An upright box between two x, two y and two z."""
    low, high = np.array([x[0], y[0], z[0]]), np.array([x[1], y[1], z[1]])
    return Block((low + high) / 2, np.array([1.0, 0.0, 0.0, 0.0]), (high - low) / 2)


def ground(x: Interval, half_width: float, z: float = 0.0) -> Block:
    return slab(x, (-half_width, half_width), (z - THICK_M, z))


def pit(x: Interval, half_width: float) -> Block:
    """The floor of a pit, a little larger than the obstacle above it."""
    return ground((x[0] - MARGIN_M, x[1] + MARGIN_M), half_width + 2 * MARGIN_M, PIT_Z)


def plate(
    plane: Plane, over: Sequence[Interval], edge: Interval = (1.0, 0.0), thick: float = THICK_M
) -> Block:
    """The smallest box with its top in `plane` and one side along `edge` that covers plan points.

    `edge` is a plan direction. If the points are a triangle with a side along `edge`, this side
    becomes the box's rim: two such plates meet there without gap or lip.
    """
    along = np.array([edge[0], edge[1], plane.slope_x * edge[0] + plane.slope_y * edge[1]])
    along /= np.linalg.norm(along)
    normal = np.array([-plane.slope_x, -plane.slope_y, 1.0])
    normal /= np.linalg.norm(normal)
    axes = np.column_stack([along, np.cross(normal, along), normal])
    local = plane.lift(np.array(over, float)) @ axes  # [k, 3]
    low, high = local.min(0), local.max(0)
    low[2] = high[2] - thick
    return Block(axes @ ((low + high) / 2), quat_of(axes), (high - low) / 2)


def tilted(x: Interval, half_width: float, top: float, slope_y: float, thick: float) -> Block:
    """A slab whose top is `top` on the midline and rises to the left; its ends stay upright."""
    corners = [(a, b) for a in x for b in (-half_width, half_width)]
    return plate(Plane(top, 0.0, slope_y), corners, thick=thick)


def quat_of(axes: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation matrix, for rotations by less than 180 degrees."""
    w = np.sqrt(1.0 + np.trace(axes)) / 2
    spin = axes - axes.T
    return np.array([w, *(np.array([spin[2, 1], spin[0, 2], spin[1, 0]]) / (4 * w))])


def matrix_of(quat: np.ndarray) -> np.ndarray:
    """The rotation matrices [..., 3, 3] of quaternions [..., 4]; columns are the box's axes."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)
