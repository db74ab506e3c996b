"""Builds level ground, wide enough to walk anywhere within an episode."""

import numpy as np

from swap.courses.blocks import Obstacle, SizeRange, ground

NOTHING_M = SizeRange(0.0, 0.0, "m")
REACH_M = 40.0
LANE_M = 10.0


def flat(difficulty: float, rng: np.random.Generator) -> Obstacle:
    return Obstacle([ground((-REACH_M, REACH_M), REACH_M)], goal_x=4.0, lane=LANE_M)
