"""Builds a field of rocks of random size, tilt and heading, up to a given height."""

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    LANDING_M,
    RUN_UP_M,
    Block,
    Obstacle,
    SizeRange,
    ground,
    matrix_of,
)

HEIGHT_M = SizeRange(0.05, 0.25, "m")
LANE_M = 1.2
ROWS = 6
PITCH_X_M, PITCH_Y_M = 0.55, 0.75
HALF_X_M = (0.18, 0.36)
HALF_Y_M = (0.28, 0.38)
BURIED_M = 0.25
"""Half of a rock's thickness, so large that its underside stays below the ground."""
JITTER_X_M, JITTER_Y_M = 0.12, 0.06
LOWEST = 0.4
"""Height of the lowest rock, as a share of the tallest rock's."""
TURN_RAD = 0.4
LEAN = 0.2
"""A rock leans until its rim is off the level by up to this share of its height."""


def rocks(difficulty: float, rng: np.random.Generator) -> Obstacle:
    tallest = HEIGHT_M.at(difficulty)
    start = rng.uniform(*RUN_UP_M)
    # Rows of four and three alternate: every line along the lane meets a rock in each pair of rows.
    places = [
        (start + (row + 0.5) * PITCH_X_M, (column - 1.5 + row % 2 / 2) * PITCH_Y_M)
        for row in range(ROWS)
        for column in range(4 - row % 2)
    ]
    heights = tallest * rng.uniform(LOWEST, 1.0, len(places))
    heights[rng.integers(len(places))] = tallest
    field = [rock(x, y, height, rng) for (x, y), height in zip(places, heights, strict=True)]
    end = max(float(it.pos[0] + it.half @ np.abs(matrix_of(it.quat)[0])) for it in field)
    return Obstacle(
        [ground((-BEHIND_M, end + rng.uniform(*LANDING_M)), 2 * PITCH_Y_M), *field],
        goal_x=end,
        lane=LANE_M,
    )


def rock(x: float, y: float, height: float, rng: np.random.Generator) -> Block:
    """A leaning, turned box whose highest corner is at `height`."""
    half = np.array([rng.uniform(*HALF_X_M), rng.uniform(*HALF_Y_M), BURIED_M])
    roll, pitch = LEAN * height * rng.uniform(-1, 1, 2) / half[[1, 0]]
    yaw = rng.uniform(-TURN_RAD, TURN_RAD)
    # Lean about a level axis, then turn. Angles are small: roll and pitch form one rotation.
    lean = np.array([1.0, roll / 2, pitch / 2, 0.0])
    turn = np.array([np.cos(yaw / 2), np.sin(yaw / 2)])
    w, a, b, _ = lean / np.linalg.norm(lean)
    quat = np.array(
        [turn[0] * w, turn[0] * a - turn[1] * b, turn[0] * b + turn[1] * a, turn[1] * w]
    )
    top = half @ np.abs(matrix_of(quat)[2])
    place = [
        x + rng.uniform(-JITTER_X_M, JITTER_X_M),
        y + rng.uniform(-JITTER_Y_M, JITTER_Y_M),
        height - top,
    ]
    return Block(np.array(place), quat, half)
