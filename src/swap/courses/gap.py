"""Builds two banks with a pit between them and on both sides."""

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    PIT_Z,
    RUN_UP_M,
    THICK_M,
    Obstacle,
    SizeRange,
    pit,
    slab,
)

WIDTH_M = SizeRange(0.05, 3.0, "m")
LIMIT_M = 3.6
"""From one metre before the edge the far bank is still within the camera's 5 m."""
BANK_HALF_WIDTH_M = (1.0, 1.5)


def gap(difficulty: float, rng: np.random.Generator) -> Obstacle:
    edge = rng.uniform(*RUN_UP_M)
    far_edge = edge + WIDTH_M.at(difficulty)
    end = far_edge + LANDING_M[1]
    side = rng.uniform(*BANK_HALF_WIDTH_M)
    wall = (PIT_Z - THICK_M, 0.0)
    return Obstacle(
        [
            slab((-BEHIND_M, edge), (-side, side), wall),
            slab((far_edge, end), (-side, side), wall),
            pit((-BEHIND_M, end), side),
        ],
        goal_x=far_edge,
        lane=side,
    )
