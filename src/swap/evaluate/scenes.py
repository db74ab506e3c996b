"""Makes random courses with robots on them, for checks and benchmarks."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from swap.courses import FAMILIES, Course, make
from swap.courses.rays import heights
from swap.robots import Robot
from swap.robots.kinematics import leg_points_in_world
from swap.sim import Engine, Start

T = TypeVar("T")

NOISE = 0.5
"""Standard deviation of the actions."""
REACH_M = 0.7
"""No part of a robot is further than this from its base along the ground."""


def bank_of(
    families: Sequence[str] = (),
    difficulties: Sequence[float] = (0.1, 0.4, 0.7, 1.0),
    seed: int = 0,
) -> list[Course]:
    """Builds a course of each family (all, if none is named) at each difficulty."""
    rng = np.random.default_rng(seed)
    return [make(name, d, rng) for d in difficulties for name in families or FAMILIES]


def all_worlds(engine: Engine) -> Tensor:
    return torch.ones(engine.n, dtype=torch.bool, device=engine.device)


def to_device(parts: T, device: torch.device | str) -> T:
    """Moves a dataclass of tensors to another device; returns the same one if it is there
    already."""
    values = {field.name: getattr(parts, field.name) for field in fields(parts)}  # type: ignore[arg-type]
    return type(parts)(**{name: value.to(device) for name, value in values.items()})


def random_starts(robot: Robot, courses: Sequence[Course], rng: np.random.Generator) -> Start:
    """Places one robot on each course, anywhere from the start to the goal, just above the ground
    and moving.

    Every other robot is nearly upright and lands on its feet; the rest fall in any pose, also on
    backs and sides, so that feet, shanks, thighs and trunk all meet the obstacle. No shape starts
    inside a box.
    """
    n = len(courses)
    wild = np.where(np.arange(n) % 2, 1.0, 0.2)[:, None]
    pose = np.array(robot.default_pose)
    joint_pos = pose + wild * rng.normal(0, 0.4, (n, len(pose)))
    low, high = np.array([joint.range for joint in robot.joints]).T
    joint_pos = joint_pos.clip(low + 0.05, high - 0.05)
    quat = rng.normal(size=(n, 4))
    quat[::2] = rng.normal((1, 0, 0, 0), (0, 0.05, 0.05, 0.2), quat[::2].shape)
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    base = np.zeros((n, 3))
    goal_x, lane = np.array([(course.goal_x, course.lane) for course in courses]).T
    base[:, 0] = rng.uniform(0, goal_x + 1)
    base[:, 1] = rng.uniform(-0.5, 0.5, n) * lane.clip(max=1.0)
    points = leg_points_in_world(robot, base, quat, joint_pos).reshape(n, -1, 3)
    lowest = points[..., 2].min(1).clip(max=-0.15) - 0.1  # with the shapes' radii, trunk included
    base[:, 2] = [_ground(course, *at) for course, at in zip(courses, base[:, :2], strict=True)]
    base[:, 2] += rng.uniform(0, 0.15, n) - lowest
    velocity = wild * rng.normal(0, (0.7, 0.7, 0.7, 1.5, 1.5, 1.5), (n, 6))
    joint_vel = wild * rng.normal(0, 2.0, (n, len(pose)))
    parts = (base, quat, velocity[:, :3], velocity[:, 3:], joint_pos, joint_vel)
    return Start(*(torch.tensor(part, dtype=torch.float32) for part in parts))


def random_targets(robot: Robot, n: int, generator: torch.Generator) -> Tensor:
    """Joint targets [n, 12]: the default pose plus noise."""
    noise = torch.randn(n, len(robot.joints), generator=generator, device=generator.device)
    pose = torch.tensor(robot.default_pose, device=generator.device)
    return pose + NOISE * robot.action_scale * noise


def _ground(course: Course, x: float, y: float) -> float:
    """The highest ground within a robot's reach."""
    around = np.linspace(-REACH_M, REACH_M, 15)
    return float(heights(course, x + around[:, None], y + around).max(initial=-5.0))
