"""Builds level ground and a box to climb. The course ends on top of the box, so there is no
drop."""

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    MARGIN_M,
    OVERLAP_M,
    RUN_UP_M,
    THICK_M,
    Obstacle,
    SizeRange,
    ground,
    slab,
)

HEIGHT_M = SizeRange(0.05, 1.9, "m")
LIMIT_M = 2.2
"""From 3.5 m away the camera still sees the upper edge of a wall this high."""
LANE_M = 2.0


def box(difficulty: float, rng: np.random.Generator) -> Obstacle:
    height = HEIGHT_M.at(difficulty)
    face = rng.uniform(*RUN_UP_M)
    end = face + rng.uniform(*LANDING_M)
    side = LANE_M + MARGIN_M
    return Obstacle(
        [
            ground((-BEHIND_M, face + OVERLAP_M), side),
            slab((face, end), (-side, side), (-THICK_M, height)),
        ],
        goal_x=face,
        goal_z=height,
        lane=LANE_M,
    )
