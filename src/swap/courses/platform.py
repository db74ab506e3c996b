"""Builds a platform: a wall to climb, a top to cross, and a drop to jump down from."""

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    MARGIN_M,
    RUN_UP_M,
    THICK_M,
    Obstacle,
    SizeRange,
    ground,
    slab,
)

HEIGHT_M = SizeRange(0.05, 1.5, "m")
TOP_M = (2.0, 3.0)
LANE_M = 2.0


def platform(difficulty: float, rng: np.random.Generator) -> Obstacle:
    height = HEIGHT_M.at(difficulty)
    face = rng.uniform(*RUN_UP_M)
    drop = face + rng.uniform(*TOP_M)
    side = LANE_M + MARGIN_M
    return Obstacle(
        [
            ground((-BEHIND_M, drop + rng.uniform(*LANDING_M)), side),
            slab((face, drop), (-side, side), (-THICK_M, height)),
        ],
        goal_x=drop,
        lane=LANE_M,
    )
