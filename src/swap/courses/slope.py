"""Builds a plane that is high on the left and low on the right, to walk along."""

from math import radians, tan

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    THICK_M,
    Obstacle,
    SizeRange,
    ground,
    tilted,
)
from swap.courses.twist import twist

ANGLE_DEG = SizeRange(5.0, 60.0, "deg")
RUN_UP_M = (2.5, 3.5)
"""Distance to the middle of the transition from level to tilted."""
LENGTH_M = (4.2, 4.8)
LANE_M = 1.1
SIDE_M = 1.3
SPREAD = 1.25
"""The transition is 1 m long at 0.4 m from the midline, and half as long where the feet are."""
GRIP = 1.25
"""Least friction divided by the slope's tangent: at 1 even a robot that stands still begins to
slide, and this one walks."""
MOST = 1.9
"""Upper limit of that friction: MuJoCo's contacts get softer with friction, and feet would sink in.
"""


def lateral_slope(difficulty: float, rng: np.random.Generator) -> Obstacle:
    slope_y = tan(radians(ANGLE_DEG.at(difficulty)))
    middle_z = LANE_M * slope_y  # the lane's low side is at 0: a robot below it has slid off
    reach = SPREAD * SIDE_M
    into = rng.uniform(*RUN_UP_M)
    out = into + rng.uniform(*LENGTH_M)
    level = out + reach / 2  # level over the inner half of the lane
    return Obstacle(
        [
            ground((-BEHIND_M, into - reach), SIDE_M, middle_z),
            *twist(into, SIDE_M, middle_z, slope_y, SPREAD),
            tilted((into + reach, out - reach), SIDE_M, middle_z, slope_y, THICK_M),
            *twist(out, SIDE_M, middle_z, slope_y, -SPREAD),
            ground((out + reach, level + rng.uniform(*LANDING_M)), SIDE_M, middle_z),
        ],
        goal_x=level,
        goal_z=middle_z,
        start_z=middle_z,
        lane=LANE_M,
        friction=min(GRIP * slope_y, MOST),
    )
