"""Builds stepping stones over a pit: one row for the left feet, one for the right."""

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

CLEAR_M = SizeRange(0.1, 0.5, "m")
FIELD_M = 3.0
STONE_M = (0.30, 0.40)
STONE_HALF_WIDTH_M = 0.2
ROW_Y_M = 0.26
JITTER_Y_M = 0.05
LANE_M = 1.0


def stones(difficulty: float, rng: np.random.Generator) -> Obstacle:
    clear = CLEAR_M.at(difficulty)
    edge = rng.uniform(*RUN_UP_M)
    count = round(FIELD_M / (sum(STONE_M) / 2 + clear))
    wall = (PIT_Z - THICK_M, 0.0)
    blocks, ends = [], []
    for row_y in (ROW_Y_M, -ROW_Y_M):
        x = edge
        for length in rng.uniform(*STONE_M, count).tolist():
            x += clear
            y = row_y + rng.uniform(-JITTER_Y_M, JITTER_Y_M)
            across = (y - STONE_HALF_WIDTH_M, y + STONE_HALF_WIDTH_M)
            blocks.append(slab((x, x + length), across, wall))
            x += length
        ends.append(x)
    far_edge = min(ends) + clear  # the longer row ends closer to the bank, or in it
    end = far_edge + LANDING_M[1]
    banks = [
        slab((-BEHIND_M, edge), (-LANE_M, LANE_M), wall),
        slab((far_edge, end), (-LANE_M, LANE_M), wall),
        pit((-BEHIND_M, end), LANE_M),
    ]
    return Obstacle([*banks, *blocks], goal_x=far_edge, lane=LANE_M)
