"""Measures how much level ground a course has before its obstacle."""

import numpy as np

from swap.courses.course import Course
from swap.courses.rays import heights

CLEAR_M = 1.0
"""Least distance from the middle of a robot to ground that it must not start on."""
BESIDE_M = 0.5
STEP_M = 0.05
LEVEL_M = 0.02


def run_up(course: Course) -> float:
    """How far in front of x = 0 a robot may start, m."""
    x = np.arange(0.0, max(course.goal_x, STEP_M), STEP_M)
    y = np.linspace(-BESIDE_M, BESIDE_M, 5)
    level = np.abs(heights(course, x[:, None], y[None]) - course.start_z) < LEVEL_M
    uneven = np.flatnonzero(~level.all(1))
    end = x[uneven[0]] if len(uneven) else course.goal_x
    return max(0.0, float(end) - CLEAR_M)
