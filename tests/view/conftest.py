"""A robot in an odd pose among odd boxes, its state, and the same in the mirror."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from swap.courses import Course
from swap.courses.course import Boxes
from swap.robots import Robot, load
from swap.sim import Start, State, make_engine, standing
from swap.symmetry import VECTOR, signs

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@dataclass(frozen=True)
class World:
    """One world: its state and boxes, and what they were made from."""

    robot: Robot
    course: Course
    start: Start
    state: State
    boxes: Boxes

    def mirror(self) -> "World":
        quat, joint = signs(1, -1, 1, -1), self.robot.body.joint_rep
        start = replace(
            self.start,
            base_pos=VECTOR(self.start.base_pos),
            base_quat=quat(self.start.base_quat),
            joint_pos=joint(self.start.joint_pos),
        )
        return world_of(self.robot, self.course.mirror(), start)


def world_of(robot: Robot, course: Course, start: Start) -> World:
    engine = make_engine("cpu", robot, [course], n=1, threads=1)
    everyone = torch.ones(1, dtype=torch.bool)
    engine.assign(everyone, torch.zeros(1, dtype=torch.int32))
    engine.reset(everyone, start)
    return World(robot, course, start, engine.state, engine.boxes)


def odd_world(name: str) -> World:
    robot = load(name)
    quat = np.array([(1, 0, 0, 0), (1, 0.1, 0.05, 0.3), (1, 0.0, -0.2, 0.1), (1, 0.3, 0.1, -0.4)])
    course = Course(
        family="test",
        difficulty=0.0,
        pos=np.array([(0, 0, -0.5), (1.1, 0.5, 0.2), (-0.9, 0.7, 0.1), (0.8, -0.9, 0.0)], float),
        quat=quat / np.linalg.norm(quat, axis=1, keepdims=True),
        half=np.array([(4, 3, 0.5), (0.3, 0.5, 0.4), (0.3, 0.2, 0.5), (0.2, 0.3, 0.25)], float),
        friction=1.0,
        start_z=0.0,
        goal_x=2.0,
        goal_z=0.0,
        goal_tilt=0.0,
        lane=2.0,
        size=0.0,
    )
    start = standing(robot, torch.zeros(1))
    start.base_pos[0] += torch.tensor([0.05, 0.04, 0.1])
    start.base_quat[0] = torch.nn.functional.normalize(torch.tensor([1, 0.06, -0.1, 0.15]), dim=0)
    wiggle = torch.tensor(np.random.default_rng(1).uniform(-0.3, 0.3, (1, 12)))
    start.joint_pos[:] += wiggle.float()
    return world_of(robot, course, start)


@pytest.fixture(scope="session", params=["apollo", "go2"])
def odd(request: pytest.FixtureRequest) -> World:
    return odd_world(request.param)


@pytest.fixture(scope="session")
def world() -> World:
    return odd_world("apollo")


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return request.param
