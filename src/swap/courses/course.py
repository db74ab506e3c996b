"""Describes a parkour course as boxes: one course in numpy, or many stacked as tensors.

Frames: +x forward, +y left, +z up, metres; quaternions are (w, x, y, z).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from swap.errors import UserError

SLOTS = 32
"""How many boxes a world can hold. Unused ones are parked far below, never given size 0."""
PARKED_Z = -100.0
PARKED_HALF = 0.05


@dataclass(frozen=True)
class Course:
    """One robot's course. The robot starts near x = 0 on the midline, facing +x."""

    family: str
    difficulty: float
    """In [0, 1] within the family's range; above 1 beyond it."""
    pos: np.ndarray
    """Box centres [n, 3]."""
    quat: np.ndarray
    """Box orientations [n, 4]."""
    half: np.ndarray
    """Box half sizes [n, 3]."""
    friction: float
    """Least friction of the boxes; 0 unless a robot could not stand on the obstacle otherwise."""
    start_z: float
    """Height of the ground at x = 0."""
    goal_x: float
    """The far edge of the obstacle; the base must get 0.8 m past it."""
    goal_z: float
    """Height of the ground behind the obstacle, on the midline at its edge."""
    goal_tilt: float
    """Slope of that ground in y: its height is goal_z + y * goal_tilt."""
    lane: float
    """Half width of the lane; the base must stay within |y| < lane."""
    size: float
    """The obstacle's size in its own unit (m of height or gap, degrees of slope)."""

    @property
    def n(self) -> int:
        return len(self.pos)

    def mirror(self) -> "Course":
        """The exact reflection in the x-z plane: numbers are negated, never rounded."""
        return replace(
            self,
            pos=self.pos * np.array([1.0, -1.0, 1.0]),
            quat=self.quat * np.array([1.0, -1.0, 1.0, -1.0]),
            half=self.half.copy(),
            goal_tilt=-self.goal_tilt,
        )


@dataclass(frozen=True)
class Boxes:
    """The courses of many worlds, stacked for engines and sensors."""

    pos: Tensor  # [N, S, 3]
    quat: Tensor  # [N, S, 4]
    half: Tensor  # [N, S, 3]
    friction: Tensor  # [N]
    count: Tensor  # [N] int32: slots in use, always the first ones

    @property
    def n(self) -> int:
        return self.pos.shape[0]

    @property
    def slots(self) -> int:
        return self.pos.shape[1]


def stack(courses: Sequence[Course], slots: int = SLOTS, device: str = "cpu") -> Boxes:
    """Stack courses as tensors; each is padded to `slots` boxes with parked ones."""
    n = len(courses)
    pos = np.zeros((n, slots, 3), np.float32)
    pos[:, :, 2] = PARKED_Z
    quat = np.zeros((n, slots, 4), np.float32)
    quat[:, :, 0] = 1.0
    half = np.full((n, slots, 3), PARKED_HALF, np.float32)
    for k, course in enumerate(courses):
        if course.n > slots:
            raise UserError(
                f"course '{course.family}' has {course.n} boxes, a world holds {slots}; "
                f"use slots={course.n} or more"
            )
        pos[k, : course.n], quat[k, : course.n] = course.pos, course.quat
        half[k, : course.n] = course.half
    return Boxes(
        torch.from_numpy(pos).to(device),
        torch.from_numpy(quat).to(device),
        torch.from_numpy(half).to(device),
        torch.tensor([course.friction for course in courses], dtype=torch.float32, device=device),
        torch.tensor([course.n for course in courses], dtype=torch.int32, device=device),
    )
