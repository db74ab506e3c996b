"""Builds tilted boxes, stairs and gaps: high on the left, low on the right, with the given height
at the middle.

The mirror image, right high, is `Course.mirror()`: it is for testing what was never trained on.
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
"""A lower one would sink into the ground within its lane, on the right."""
TILT_DEG = SizeRange(5.0, 20.0, "deg")
"""How far tops are tilted: unless an angle is given, it rises with the size, from difficulty 0
to 1."""
LANE_M = 1.25
LIP_M = 0.03
"""The wall of a tilted box is at least this high all across its lane: low boxes are tilted less."""
WIDE_M = 2.0
"""Half width of a tilted box: its slanted right side covers the lane down to the ground."""
TWIST_X_M = 1.5
SPREAD = 1.0
RUN_UP_PAST_TWIST_M = (2.0, 2.5)


def slope(difficulty: float, tilt_deg: float | None) -> float:
    """Of the tops, in y."""
    return tan(radians(TILT_DEG.at(difficulty) if tilt_deg is None else tilt_deg))


def tilted_box(
    difficulty: float, rng: np.random.Generator, tilt_deg: float | None = None
) -> Obstacle:
    """Level ground, tilted top: the wall is higher on the left."""
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
    """Both banks tilted, the near one after a level start."""
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
    """Every tread tilted, and the ground before and after them, so that all steps are equal."""
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
    """Level at the start, then twisted, then tilted up to `end`."""
    reach = SPREAD * half_width
    return [
        ground((-BEHIND_M, TWIST_X_M - reach), half_width),
        *twist(TWIST_X_M, half_width, 0.0, slope_y, SPREAD),
        tilted((TWIST_X_M + reach, end), half_width, 0.0, slope_y, thick),
    ]
