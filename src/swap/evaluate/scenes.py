"""A seed in, a bank of courses of many families and robots on them out: what audits and benches
run on."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from swap.courses import FAMILIES, Course, make
from swap.robots import Robot
from swap.sensors import CameraCfg
from swap.sim import Engine


def bank_of(
    families: Sequence[str] = (),
    difficulties: Sequence[float] = (0.1, 0.4, 0.7, 1.0),
    seed: int = 0,
) -> list[Course]:
    """A course of each family (all, if none is named) at each difficulty."""
    rng = np.random.default_rng(seed)
    return [make(name, d, rng) for d in difficulties for name in families or FAMILIES]


def camera_of(robot: Robot) -> CameraCfg:
    """The depth camera where the robot carries it."""
    return CameraCfg(pos_b=robot.camera.pos, pitch_rad=robot.camera.pitch)


def everyone(engine: Engine) -> Tensor:
    return torch.ones(engine.n, dtype=torch.bool, device=engine.device)
