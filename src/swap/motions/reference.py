"""Turns clips into the discriminator's input: tensors of two successive frames (q, v, ω, q̇)."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from swap.env.observation_terms import OBSERVATIONS
from swap.env.spaces import Spaces
from swap.motions.clip import Clip
from swap.motions.gaits import GAIT_NAMES
from swap.motions.library import SECONDS, clips
from swap.robots import Robot
from swap.symmetry import Layout

READ: dict[str, Callable[[Clip], np.ndarray]] = {
    "joint_pos": lambda clip: clip.joint_pos,
    "lin_vel": lambda clip: clip.lin_vel_b,
    "ang_vel": lambda clip: clip.ang_vel_b,
    "joint_vel": lambda clip: clip.joint_vel,
}
"""How to read each observation from a clip."""


def frame_layout(robot: Robot) -> Layout:
    """The layout of one frame, as an environment observes it; a pair is two of them."""
    return Spaces(robot.body).groups["style"]


def frames(clip: Clip, robot: Robot) -> np.ndarray:
    """The frames of a clip, [T, 30]."""
    names = frame_layout(robot).names
    return np.concatenate(
        [READ[name](clip) * OBSERVATIONS[name].scale_of(robot) for name in names], -1
    )


def transitions(
    robot: Robot, gaits: Sequence[str] = GAIT_NAMES, seconds: float = SECONDS
) -> Tensor:
    """Every step of every clip [M, 2, 30]; mirroring them gives the same set. They are planned once
    in a process, so do not write to them."""
    return _planned(robot, tuple(gaits), seconds)


@lru_cache(maxsize=4)
def _planned(robot: Robot, gaits: tuple[str, ...], seconds: float) -> Tensor:
    pairs = []
    for clip in clips(robot, gaits, seconds):
        x = frames(clip, robot)
        pairs.append(np.stack([x[:-1], x[1:]], 1))
    return torch.from_numpy(np.concatenate(pairs)).float()
