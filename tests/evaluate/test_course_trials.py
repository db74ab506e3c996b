"""Trials on a course of pieces: they end where the robot cannot go on."""

import swap
from swap.courses.course_plan import CoursePlan
from swap.courses.pieces import Box, Gap, Ground
from swap.evaluate.course_trials import measure_courses, piece_at


def test_an_easy_course_is_crossed_and_a_wall_is_where_trials_end():
    easy = CoursePlan("easy", (Box(0.15, 1.5), Ground(1.0), Box(0.1, 1.0)))
    wall = CoursePlan("wall", (Box(0.15, 1.5), Ground(2.0), Box(2.2, 1.0)))
    robot = swap.load("teacher")
    rows = list(measure_courses(robot, [easy, wall], trials=6, speeds_mps=[1.0], device="cpu"))
    assert [row["course"] for row in rows] == ["easy", "wall"]
    assert rows[0]["success"] >= 0.8
    assert rows[1]["success"] == 0
    assert "3: box 2.20 m" in rows[1]["ended at"]


def test_a_robot_is_at_the_obstacle_that_it_has_not_left_behind():
    plan = CoursePlan("two", (Gap(1.0), Ground(2.0), Box(0.5, 1.0)), run_up_m=3.0)
    places = [piece_at(plan, x) for x in (0.0, 4.7, 4.9, 7.7, 7.9)]
    assert places == ["1: gap 1.00 m"] * 2 + ["3: box 0.50 m"] * 2 + ["landing"]
