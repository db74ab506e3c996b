"""Clips -> what the discriminator reads: pairs of successive frames (q, v, ω, q̇), as tensors."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from swap.env.spaces import Spaces
from swap.motions.clip import Clip
from swap.motions.gaits import GAIT_NAMES
from swap.motions.library import SECONDS, clips
from swap.robots import Robot
from swap.symmetry import Layout

FIELDS = ("joint_pos", "lin_vel", "ang_vel", "joint_vel")
SCALES = {"ang_vel": 0.25, "joint_vel": 0.05}
"""Those of the environment's observations (a test compares); 1 where nothing is said."""


def frame_layout(robot: Robot) -> Layout:
    """One frame; a pair is two of them (`Spaces.style`)."""
    return Spaces(robot.body).layout(*FIELDS)


def frames(clip: Clip) -> np.ndarray:
    """[T, 30]"""
    fields = (clip.joint_pos, clip.lin_vel_b, clip.ang_vel_b, clip.joint_vel)
    scales = [SCALES.get(name, 1.0) for name in FIELDS]
    return np.concatenate([x * scale for x, scale in zip(fields, scales, strict=True)], -1)


def transitions(
    robot: Robot, gaits: Sequence[str] = GAIT_NAMES, seconds: float = SECONDS
) -> Tensor:
    """Every step of every clip [M, 2, 30]; mirroring them gives the same set."""
    pairs = []
    for clip in clips(robot, gaits, seconds):
        x = frames(clip)
        pairs.append(np.stack([x[:-1], x[1:]], 1))
    return torch.from_numpy(np.concatenate(pairs)).float()
