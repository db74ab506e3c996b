"""Places things on the level ground before an obstacle that are not what they seem: grass, which is
seen and not solid, and glass, which is solid and not seen."""

from dataclasses import replace

import numpy as np

from swap.courses.blocks import Block
from swap.courses.course import Course

NEAR_M, CLEAR_M = 0.9, 0.5
"""Clutter begins so far ahead of the start and ends so far before the obstacle."""
SIDE_M = 0.8
BLADE_M = (0.1, 0.35)
"""Heights."""
SILL_M = (0.04, 0.1)
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def reach(course: Course) -> float:
    """The x where clutter ends."""
    return max(NEAR_M + 0.2, min(course.goal_x, 3.0) - CLEAR_M)


def place(course: Course, rng: np.random.Generator) -> tuple[float, float]:
    """x and y of one thing."""
    return float(rng.uniform(NEAR_M, reach(course))), float(rng.uniform(-SIDE_M, SIDE_M))


def grass(course: Course, blades: int, rng: np.random.Generator) -> list[Block]:
    """Upright blades, 4 by 8 cm thick."""
    blocks = []
    for _ in range(blades):
        (x, y), height = place(course, rng), float(rng.uniform(*BLADE_M))
        pos = np.array([x, y, course.start_z + height / 2])
        blocks.append(Block(pos, UPRIGHT, np.array([0.02, 0.04, height / 2])))
    return blocks


def glass(course: Course, sills: int, rng: np.random.Generator) -> list[Block]:
    """Sills across the lane."""
    blocks = []
    for _ in range(sills):
        (x, _), height = place(course, rng), float(rng.uniform(*SILL_M))
        pos = np.array([x, 0.0, course.start_z])
        blocks.append(Block(pos, UPRIGHT, np.array([0.05, course.lane, height])))
    return blocks


def add(course: Course, blocks: list[Block]) -> Course:
    """The course with these boxes beside its own."""
    return replace(
        course,
        pos=np.stack([*course.pos, *(block.pos for block in blocks)]),
        quat=np.stack([*course.quat, *(block.quat for block in blocks)]),
        half=np.stack([*course.half, *(block.half for block in blocks)]),
    )
