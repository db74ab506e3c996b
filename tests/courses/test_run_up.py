"""Starts in front of x = 0 are on level ground, and as near to the obstacle as that allows."""

import numpy as np
import pytest

from swap.courses import FAMILIES, make, run_up
from swap.courses.rays import heights


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("difficulty", [0.0, 0.4, 1.0])
def test_the_ground_is_level_wherever_a_robot_may_start(family, difficulty):
    course = make(family, difficulty, np.random.default_rng(5))
    ahead = run_up(course)
    x, y = np.meshgrid(np.linspace(-0.5, ahead + 0.9, 60), np.linspace(-0.45, 0.45, 9))
    assert np.abs(heights(course, x, y) - course.start_z).max() < 0.025


@pytest.mark.parametrize("family", ["box", "gap"])
def test_boxes_and_gaps_can_be_begun_a_metre_before_their_edge(family):
    course = make(family, 0.5, np.random.default_rng(1))
    edge = course.goal_x if family == "box" else course.goal_x - course.size
    assert run_up(course) == pytest.approx(edge - 1.0, abs=0.06)
