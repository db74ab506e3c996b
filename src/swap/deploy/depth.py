"""Prepares a depth image for the world model, as its bundle says: holes, near zone, range, age.

Equal to what training's camera does after its faults; a camera of another size or lens is resampled
to training's pixels first.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from swap.deploy.messages import DepthImage
from swap.deploy.spec import DepthCameraSpec
from swap.errors import UserError
from swap.validate import check_numbers

KEPT = 32
"""Images that wait to become old enough."""


@dataclass(frozen=True)
class Lens:
    """A pinhole camera: pixels of focal length and principal point."""

    rows: int
    cols: int
    fx: float
    fy: float
    cx: float
    cy: float
    """In pixels from the middle of the first one."""

    def __post_init__(self) -> None:
        check_numbers(self, "lens.", at_least_1=("rows", "cols"), positive=("fx", "fy"))


def training_lens(camera: DepthCameraSpec) -> Lens:
    """The one that training saw through."""
    focal = 1 / camera.pixel
    middle = (camera.cols - 1) / 2, (camera.rows - 1) / 2
    return Lens(camera.rows, camera.cols, focal, focal, *middle)


class DepthPreparation:
    """Images in metres [rows, cols] of a lens -> what the world model reads, [rows, cols]."""

    def __init__(self, camera: DepthCameraSpec, lens: Lens | None = None) -> None:
        self.camera, self.lens = camera, lens or training_lens(camera)
        self._shape = (self.lens.rows, self.lens.cols)
        self._pixels = None if self.lens == training_lens(camera) else self._lookup()

    def __call__(self, metres: np.ndarray) -> np.ndarray:
        c = self.camera
        if metres.shape != self._shape:
            raise UserError(f"an image is {metres.shape}, the lens has {self._shape}")
        z = np.asarray(metres, np.float32)
        if self._pixels is not None:
            z = np.append(z, np.float32(0)).take(self._pixels)
        with np.errstate(invalid="ignore", over="ignore"):
            seen = np.isfinite(z) & (z > 0)
            share = (z - np.float32(c.near_m)) / np.float32(c.far_m - c.near_m)
        s = np.where(seen, share, np.float32(1)).clip(0, 1)
        prepared: np.ndarray = s * np.float32(1 + c.bend) / (s + np.float32(c.bend))
        return prepared - np.float32(0.5)

    def _lookup(self) -> np.ndarray:
        """For each of training's pixels the nearest one of this lens; outside of it, nothing."""
        c, lens = self.camera, self.lens
        right = (np.arange(c.cols) - (c.cols - 1) / 2) * c.pixel
        down = (np.arange(c.rows) - (c.rows - 1) / 2) * c.pixel
        col = np.rint(lens.cx + lens.fx * right).astype(int)
        row = np.rint(lens.cy + lens.fy * down).astype(int)
        inside = ((row >= 0) & (row < lens.rows))[:, None] & (col >= 0) & (col < lens.cols)
        return np.where(inside, row[:, None] * lens.cols + col, lens.rows * lens.cols)


class DepthBuffer:
    """The latest images. What is read is the one whose age is nearest to that of training."""

    def __init__(self, camera: DepthCameraSpec) -> None:
        self._age_s = sum(camera.age_s) / 2
        self._images: deque[DepthImage] = deque(maxlen=KEPT)

    def put(self, image: DepthImage) -> None:
        if math.isfinite(image.time_s):
            self._images.append(image)

    def get(self, now_s: float) -> DepthImage | None:
        """None: there was none yet."""
        if not self._images:
            return None
        return min(self._images, key=lambda x: abs(now_s - x.time_s - self._age_s))

    def clear(self) -> None:
        self._images.clear()
