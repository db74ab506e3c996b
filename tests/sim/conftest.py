"""Provides small courses, both engines by name, and the mirror of a whole state."""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from swap.courses.course import Course
from swap.robots import load
from swap.sim import Start
from swap.sim.cpu import CpuEngine
from swap.sim.gpu import GpuEngine
from swap.symmetry import ROTATION, VECTOR, signs

SLOTS = 8
Box = tuple[Sequence[float], Sequence[float], Sequence[float]]


def make_course(*boxes: Box, friction: float = 0.0, start_z: float = 0.0) -> Course:
    """Boxes as (centre, half size) or (centre, half size, quaternion)."""
    pos = np.array([box[0] for box in boxes], float)
    half = np.array([box[1] for box in boxes], float)
    quat = np.array([box[2] if len(box) > 2 else (1, 0, 0, 0) for box in boxes], float)
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    return Course("test", 0.0, pos, quat, half, friction, start_z, 5.0, start_z, 0.0, 2.0, 0.0)


FLAT = make_course(([0, 0, -0.5], [20, 20, 0.5]))
HIGH = make_course(([0, 0, 0.25], [1.5, 1.5, 0.25]), start_z=0.5)
ROUGH = make_course(
    ([0, 0, -0.5], [20, 20, 0.5]),
    ([0.35, 0.22, 0.0], [0.3, 0.15, 0.06], [1, 0.05, 0.1, 0.02]),
    ([-0.3, -0.25, 0.0], [0.2, 0.2, 0.10], [1, 0.15, 0.0, 0.3]),
    ([0.9, 0.05, 0.1], [0.2, 1.0, 0.25]),
    ([0.0, 0.1, 0.0], [0.08, 0.08, 0.48], [1, 0.1, 0.02, 0.1]),
)


def make(name: str, robot="apollo", bank=(FLAT,), n=2, **options):
    """Either engine, on the CPU."""
    robot = load(robot) if isinstance(robot, str) else robot
    if name == "cpu":
        return CpuEngine(robot, bank, n, slots=SLOTS, **{"threads": 1, **options})
    return GpuEngine(robot, bank, n, slots=SLOTS, **{"device": "cpu", **options})


def hold(engine, steps: int, targets: torch.Tensor | None = None) -> None:
    """Hold the default pose, or these targets."""
    if targets is None:
        targets = torch.tensor(engine.robot.default_pose).repeat(engine.n, 1)
    for _ in range(steps):
        engine.step(targets)


def everyone(engine) -> torch.Tensor:
    return torch.ones(engine.n, dtype=torch.bool)


def only(engine, *worlds: int) -> torch.Tensor:
    mask = torch.zeros(engine.n, dtype=torch.bool)
    mask[list(worlds)] = True
    return mask


def start_of(engine) -> Start:
    s = engine.state
    return Start(
        base_pos=s.base_pos.clone(),
        base_quat=s.base_quat.clone(),
        base_lin_vel=s.base_lin_vel.clone(),
        base_ang_vel=s.base_ang_vel.clone(),
        joint_pos=s.joint_pos.clone(),
        joint_vel=s.joint_vel.clone(),
    )


def mirror_start(start: Start, robot) -> Start:
    joint = robot.body.joint_rep
    return Start(
        VECTOR(start.base_pos),
        signs(1, -1, 1, -1)(start.base_quat),
        VECTOR(start.base_lin_vel),
        ROTATION(start.base_ang_vel),
        joint(start.joint_pos),
        joint(start.joint_vel),
    )


@pytest.fixture(params=["cpu", "gpu"])
def engine_name(request) -> str:
    return request.param


@pytest.fixture(scope="session")
def w() -> SimpleNamespace:
    """This file's courses and functions."""
    return SimpleNamespace(
        FLAT=FLAT,
        HIGH=HIGH,
        ROUGH=ROUGH,
        SLOTS=SLOTS,
        course=make_course,
        make=make,
        hold=hold,
        everyone=everyone,
        only=only,
        start_of=start_of,
        mirror_start=mirror_start,
    )
