"""Robots land on courses of every family in both engines, and success is recognised."""

import math

import numpy as np
import torch

from swap.courses import FAMILIES, HOLD_S, goals, held, make, reached
from swap.courses.blocks import matrix_of
from swap.courses.rays import heights
from swap.robots import load
from swap.sim import CONTROL_DT, make_engine, standing

ROBOT = load("apollo")
FOOTPRINT = np.array([leg.mount[:2] for leg in ROBOT.legs]) * [1.1, 2.6]


def engine_on(name, courses):
    engine = make_engine(name, ROBOT, courses, len(courses), device="cpu", threads=1)
    engine.assign(torch.ones(engine.n, dtype=torch.bool), torch.arange(engine.n))
    return engine


def put(engine, courses, x, tilt=None, drop=0.0):
    """Put robots at x, upright or tilted with the ground, above the highest ground under them."""
    start = standing(ROBOT, torch.zeros(engine.n))
    for k, course in enumerate(courses):
        plan = FOOTPRINT + np.array([x[k], 0.0])
        ground = heights(course, plan[:, 0], plan[:, 1])
        start.base_pos[k, 0] = x[k]
        if tilt is not None and tilt[k]:
            roll = math.atan(tilt[k])
            start.base_pos[k, 2] = heights(course, [x[k]], [0.0])[0] + ROBOT.stance / math.cos(roll)
            start.base_quat[k, :2] = torch.tensor([math.cos(roll / 2), math.sin(roll / 2)])
        else:
            start.base_pos[k, 2] = max(ground.max(), -3.0) + ROBOT.stance
    start.base_pos[:, 2] += drop
    engine.reset(torch.ones(engine.n, dtype=torch.bool), start)


def hold(engine, steps):
    pose = torch.tensor(ROBOT.default_pose).repeat(engine.n, 1)
    for _ in range(steps):
        engine.step(pose)


def test_a_robot_dropped_anywhere_lands_on_the_course_and_not_through_it(engine_name):
    rng = np.random.default_rng(0)
    courses = [make(name, d, rng) for name in FAMILIES for d in (0.3, 1.0) for _ in range(3)]
    where = [
        (0.0, course.goal_x - 0.4, course.goal_x + 1.2)[k % 3] for k, course in enumerate(courses)
    ]
    engine = engine_on(engine_name, courses)
    put(engine, courses, where, drop=0.2)
    supported = torch.zeros(engine.n, dtype=torch.bool)
    for _ in range(50):
        hold(engine, 2)
        supported |= engine.state.force[..., 2].sum(1) > 0.5 * 9.81 * ROBOT.mass
        # Contacts are soft: an impact may press a foot into a box for a moment, past its centre.
        # Boxes are much thicker than a foot moves in two steps, so no foot passes through unseen.
        assert buried(engine, courses) < 0.03
    assert supported.all()
    assert engine.report().worlds == ()


def buried(engine, courses):
    """The largest depth of any foot's centre inside a box."""
    deepest = -math.inf
    for course, feet in zip(courses, engine.state.foot_pos.double().numpy(), strict=True):
        away = feet[None] - course.pos[:, None]  # [boxes, feet, 3]
        local = np.abs(np.einsum("bfi,bij->bfj", away, matrix_of(course.quat)))
        deepest = max(deepest, (course.half[:, None] - local).min(-1).max())
    return deepest


def test_success_is_for_robots_past_the_obstacle(engine_name):
    rng = np.random.default_rng(1)
    courses = [make(name, 0.5, rng) for name in FAMILIES]
    courses += [course.mirror() for course in courses]
    engine, target = engine_on(engine_name, courses), goals(courses)

    def succeeds():
        """Who has reached the goal and held it, standing still for a second."""
        time, best = torch.zeros(engine.n), torch.zeros(engine.n)
        for _ in range(50):
            hold(engine, 1)
            state = engine.state
            _, x, y, _ = state.base_quat.unbind(1)
            down = 2 * (x * x + y * y) - 1  # body-frame gravity z
            now = reached(target, state.base_pos, down, state.foot_pos)
            time = held(time, now, CONTROL_DT)
            best = torch.maximum(best, time)
        return best >= HOLD_S - 1e-6

    names = [course.family for course in courses]
    put(engine, courses, [course.goal_x + 1.4 for course in courses], target.tilt.tolist())
    assert dict(zip(names, succeeds().tolist(), strict=True)) == dict.fromkeys(names, True)
    put(engine, courses, [0.0] * len(courses))
    assert not succeeds().any()
