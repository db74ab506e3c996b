"""Defines all that networks must know of an environment: layouts, and the camera's size, range and
rate. The environment provides it; networks are built to fit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from swap.errors import UserError, unknown
from swap.symmetry import Layout


@dataclass(frozen=True)
class CameraSpec:
    """The size, range and rate of depth images."""

    rows: int
    cols: int
    near_m: float
    """The depth of 0 in an image."""
    far_m: float
    """The depth of 1 in an image."""
    every: int
    """Control steps between two images."""


@dataclass(frozen=True)
class EnvSpec:
    """The observations and actions of an environment."""

    groups: Mapping[str, Layout]
    """The layout of every group of observations; depth images, [N, rows, cols], have none."""
    action: Layout
    action_clip: float = math.inf
    """Actions are clipped to this."""
    camera: CameraSpec | None = None
    """None: there are no images."""


def unknown_group(name: str, groups: Mapping[str, Layout]) -> UserError:
    """The error of a network that is to read a group that is not observed."""
    return unknown("observation group", name, groups, more="env.observations adds others")
