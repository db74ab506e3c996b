"""Provides random scenes for the sensors, on every device there is."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from swap.courses.course import Boxes

POLAR = torch.tensor([1.0, -1.0, 1.0])
QUAT = torch.tensor([1.0, -1.0, 1.0, -1.0])
FEET = [1, 0, 3, 2]


@dataclass(frozen=True)
class Scene:
    """Boxes of some worlds and a robot in each."""

    boxes: Boxes
    base_pos: Tensor  # [N, 3]
    base_quat: Tensor  # [N, 4]
    foot_pos: Tensor  # [N, 4, 3]
    legs: tuple[Tensor, Tensor]  # [N, 4, 3] twice

    def mirror(self) -> "Scene":
        polar, quat = POLAR.to(self.base_pos), QUAT.to(self.base_pos)
        boxes = replace(self.boxes, pos=self.boxes.pos * polar, quat=self.boxes.quat * quat)
        return Scene(
            boxes,
            self.base_pos * polar,
            self.base_quat * quat,
            (self.foot_pos * polar)[:, FEET].contiguous(),
            tuple((end * polar)[:, FEET].contiguous() for end in self.legs),
        )


class Scenes:
    """Makes scenes on `self.device`."""

    def __init__(self, device: str) -> None:
        self.device = device

    def random(self, n: int, used: int = 12, slots: int = 16, seed: int = 0) -> Scene:
        """Rotated boxes around and below a tilted robot, none of them at its camera."""
        rng = np.random.default_rng(seed)
        base_pos = rng.uniform((-0.5, -0.5, 0.4), (0.5, 0.5, 0.8), (n, 3))
        base_quat = rng.normal((1, 0, 0, 0), (0, 0.1, 0.15, 0.3), (n, 4))
        base_quat /= np.linalg.norm(base_quat, axis=-1, keepdims=True)
        half = rng.uniform(0.05, 0.6, (n, slots, 3))
        quat = rng.normal(size=(n, slots, 4))
        pos = rng.uniform((-1.5, -2.5, -0.8), (5.0, 2.5, 1.2), (n, slots, 3))
        # Move boxes out of the ball of 0.8 m around the base, so that no box contains the camera.
        away = pos - base_pos[:, None]
        size = np.linalg.norm(half, axis=-1, keepdims=True) + 0.8
        far = np.linalg.norm(away, axis=-1, keepdims=True)
        pos = np.where(far < size, base_pos[:, None] + away * size / far, pos)
        # A slab below the robot and a wall at its left reach behind the camera.
        pos[:, 0], half[:, 0] = (1.0, 0.0, -2.0), (8.0, 5.0, 1.9)
        quat[:, 0] = (1.0, 0.03, 0.02, 0.0)
        pos[:, 1], half[:, 1], quat[:, 1] = (0.5, 1.9, 0.4), (3.0, 0.2, 0.6), (1.0, 0.0, 0.0, 0.05)
        quat /= np.linalg.norm(quat, axis=-1, keepdims=True)
        feet = base_pos[:, None] + rng.uniform((-0.5, -0.3, -0.6), (0.5, 0.3, -0.3), (n, 4, 3))
        start = base_pos[:, None] + rng.uniform((0.7, -0.5, -0.4), (1.2, 0.5, 0.4), (n, 4, 3))
        end = start + rng.uniform(-0.4, 0.4, (n, 4, 3)) * (0.5, 1.0, 1.0)
        count = torch.full((n,), used, dtype=torch.int32, device=self.device)
        boxes = Boxes(*map(self._tensor, (pos, quat, half, np.ones(n))), count)
        robot = map(self._tensor, (base_pos, base_quat, feet))
        return Scene(boxes, *robot, (self._tensor(start), self._tensor(end)))

    def of(self, *rows: tuple, base: tuple = (0.0, 0.0, 0.6), slots: int = 8) -> Scene:
        """One level robot among boxes given as (centre, half sizes)."""
        pos, half = np.full((1, slots, 3), -100.0), np.full((1, slots, 3), 0.05)
        quat = np.tile((1.0, 0.0, 0.0, 0.0), (1, slots, 1))
        for k, row in enumerate(rows):
            pos[0, k], half[0, k] = row[0], row[1]
        count = torch.tensor([len(rows)], dtype=torch.int32, device=self.device)
        boxes = Boxes(*map(self._tensor, (pos, quat, half, np.ones(1))), count)
        base_pos = self._tensor(np.array([base]))
        base_quat = self._tensor(np.array([[1.0, 0.0, 0.0, 0.0]]))
        feet = base_pos[:, None] + self._tensor(
            np.array([(0.3, 0.2, -0.6), (0.3, -0.2, -0.6), (-0.3, 0.2, -0.6), (-0.3, -0.2, -0.6)])
        )
        return Scene(boxes, base_pos, base_quat, feet, (feet, feet))

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.tensor(array, dtype=torch.float32, device=self.device)


@pytest.fixture(params=["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"])
def scenes(request: pytest.FixtureRequest) -> Scenes:
    return Scenes(request.param)
