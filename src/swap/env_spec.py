"""What networks must know of an environment: layouts, the camera's size, range and rate, and no
more. The environment states it once; networks are built to fit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from swap.symmetry import Layout


@dataclass(frozen=True)
class CameraSpec:
    """The depth images."""

    rows: int
    cols: int
    near_m: float
    """What 0 in an image means."""
    far_m: float
    """What 1 means."""
    every: int
    """Control steps between two images."""


@dataclass(frozen=True)
class EnvSpec:
    """What an environment gives and takes."""

    groups: Mapping[str, Layout]
    """The layout of every group of observations; depth images, [N, rows, cols], have none."""
    action: Layout
    action_clip: float = math.inf
    """No action beyond this reaches the motors."""
    camera: CameraSpec | None = None
    """None: there are no images."""
