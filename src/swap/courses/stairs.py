"""Builds a flight of stairs up, a platform, and a flight down."""

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    MARGIN_M,
    RUN_UP_M,
    THICK_M,
    Interval,
    Obstacle,
    SizeRange,
    ground,
    slab,
)

STEP_M = SizeRange(0.05, 0.23, "m")
STEPS = (4, 6)
TREAD_M = (0.30, 0.34)
PLATFORM_M = (1.0, 1.5)
LANE_M = 2.0


def stairs(difficulty: float, rng: np.random.Generator) -> Obstacle:
    step = STEP_M.at(difficulty)
    layers = flight(rng.uniform(*RUN_UP_M), rng)
    foot = layers[0][1]
    side = LANE_M + MARGIN_M
    return Obstacle(
        [
            ground((-BEHIND_M, foot + rng.uniform(*LANDING_M)), side),
            *(
                slab(layer, (-side, side), (k * step - THICK_M, (k + 1) * step))
                for k, layer in enumerate(layers)
            ),
        ],
        goal_x=foot,
        lane=LANE_M,
    )


def flight(start: float, rng: np.random.Generator) -> list[Interval]:
    """Layers of a stepped pyramid, lowest first; each gives one tread up and one down."""
    steps = int(rng.integers(STEPS[0], STEPS[1] + 1))
    tread = rng.uniform(*TREAD_M)
    end = start + 2 * (steps - 1) * tread + rng.uniform(*PLATFORM_M)
    return [(start + k * tread, end - k * tread) for k in range(steps)]
