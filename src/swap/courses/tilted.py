"""Builds tilted boxes, stairs and gaps: high on the left, low on the right, with the given height
at the middle.

`Course.mirror()` gives the mirror image, high on the right, to test what was never trained on.
"""

from math import atan, cos, radians, tan

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    OVERLAP_M,
    PIT_Z,
    RUN_UP_M,
    THICK_M,
    Block,
    Obstacle,
    SizeRange,
    ground,
    pit,
    tilted,
)
from swap.courses.gap import WIDTH_M
from swap.courses.stairs import STEP_M, flight
from swap.courses.twist import twist

HEIGHT_M = SizeRange(0.15, 1.9, "m")
"""On the right, the top of a lower box would be below the ground within the lane."""
TILT_DEG = SizeRange(5.0, 20.0, "deg")
"""The tilt of the tops at difficulty 0 and 1, unless an angle is given."""
LANE_M = 1.25
LIP_M = 0.03
"""Least height of a tilted box's wall anywhere in the lane; low boxes are therefore tilted less."""
WIDE_M = 2.0
"""Half width of a tilted box: so wide that its slanted right side closes the lane."""
TWIST_X_M = 1.5
SPREAD = 1.0
RUN_UP_PAST_TWIST_M = (2.0, 2.5)


def slope(difficulty: float, tilt_deg: float | None) -> float:
    """The slope of the tops in y."""
    return tan(radians(TILT_DEG.at(difficulty) if tilt_deg is None else tilt_deg))


def tilted_box(
    difficulty: float, rng: np.random.Generator, tilt_deg: float | None = None
) -> Obstacle:
    """A box with a tilted top on level ground: its wall is higher on the left."""
    height = HEIGHT_M.at(difficulty)
    slope_y = min(slope(difficulty, tilt_deg), (height - LIP_M) / LANE_M)
    face = rng.uniform(*RUN_UP_M)
    end = face + rng.uniform(*LANDING_M)
    high_side = height + WIDE_M * slope_y
    thick = (high_side + THICK_M) * cos(atan(slope_y))
    return Obstacle(
        [
            ground((-BEHIND_M, face + OVERLAP_M), WIDE_M),
            tilted((face, end), WIDE_M, height, slope_y, thick),
        ],
        goal_x=face,
        goal_z=height,
        goal_tilt=slope_y,
        lane=LANE_M,
    )


def tilted_gap(
    difficulty: float, rng: np.random.Generator, tilt_deg: float | None = None
) -> Obstacle:
    """A gap between two tilted banks, the near one after a level start."""
    slope_y = slope(difficulty, tilt_deg)
    edge = TWIST_X_M + rng.uniform(*RUN_UP_PAST_TWIST_M)
    far_edge = edge + WIDTH_M.at(difficulty)
    end = far_edge + LANDING_M[1]
    wall = THICK_M - PIT_Z
    return Obstacle(
        [
            *approach(edge, LANE_M, slope_y, wall),
            tilted((far_edge, end), LANE_M, 0.0, slope_y, wall),
            pit((-BEHIND_M, end), LANE_M),
        ],
        goal_x=far_edge,
        goal_tilt=slope_y,
        lane=LANE_M,
    )


def tilted_stairs(
    difficulty: float, rng: np.random.Generator, tilt_deg: float | None = None
) -> Obstacle:
    """Stairs with tilted treads; the ground before and after is tilted too, so that all steps are
    equal."""
    step, slope_y = STEP_M.at(difficulty), slope(difficulty, tilt_deg)
    side = LANE_M + OVERLAP_M
    layers = flight(TWIST_X_M + rng.uniform(*RUN_UP_PAST_TWIST_M), rng)
    foot = layers[0][1]
    return Obstacle(
        [
            *approach(foot + rng.uniform(*LANDING_M), side, slope_y),
            *(
                tilted(layer, side, (k + 1) * step, slope_y, THICK_M)
                for k, layer in enumerate(layers)
            ),
        ],
        goal_x=foot,
        goal_tilt=slope_y,
        lane=LANE_M,
    )


def approach(end: float, half_width: float, slope_y: float, thick: float = THICK_M) -> list[Block]:
    """Ground that is level at the start, then twists, and is tilted up to `end`."""
    reach = SPREAD * half_width
    return [
        ground((-BEHIND_M, TWIST_X_M - reach), half_width),
        *twist(TWIST_X_M, half_width, 0.0, slope_y, SPREAD),
        tilted((TWIST_X_M + reach, end), half_width, 0.0, slope_y, thick),
    ]
