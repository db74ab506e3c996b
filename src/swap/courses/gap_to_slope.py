"""Builds a gap whose landing slopes, up or down ahead, before the ground is level again."""

from math import radians, tan

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    OVERLAP_M,
    PIT_Z,
    RUN_UP_M,
    THICK_M,
    Obstacle,
    Plane,
    SizeRange,
    pit,
    plate,
    slab,
)
from swap.courses.gap import BANK_HALF_WIDTH_M, WIDTH_M

SLOPE_DEG = SizeRange(5.0, 15.0, "deg")
"""Along with the width; a robot can stand on the steepest even where it is wet."""
SLOPE_M = 2.0


def gap_to_slope(difficulty: float, rng: np.random.Generator) -> Obstacle:
    edge = rng.uniform(*RUN_UP_M)
    far_edge = edge + WIDTH_M.at(difficulty)
    level = far_edge + SLOPE_M
    end = level + LANDING_M[1]
    side = rng.uniform(*BANK_HALF_WIDTH_M)
    grade = tan(radians(SLOPE_DEG.at(difficulty))) * (1 if rng.random() < 0.5 else -1)
    rise = SLOPE_M * grade
    start_z = max(0.0, -rise)  # the lowest ground is at 0: a robot below it is in the pit
    goal_z = start_z + rise
    floor, across = PIT_Z - THICK_M, (-side, side)
    under = OVERLAP_M if rise < 0 else 0.0  # the slope runs on below lower ground
    corners = [(x, y) for x in (far_edge, level + under) for y in across]
    return Obstacle(
        [
            slab((-BEHIND_M, edge), across, (floor, start_z)),
            plate(Plane(start_z, grade, 0.0, far_edge), corners),
            slab((far_edge, level + OVERLAP_M), across, (floor, min(start_z, goal_z))),
            slab((level, end), across, (floor, goal_z)),
            pit((-BEHIND_M, end), side),
        ],
        goal_x=level,
        goal_z=goal_z,
        start_z=start_z,
        lane=side,
    )
