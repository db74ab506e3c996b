"""A driven world: what it is told, how it ends, its mirror image, its faults."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

import swap
from swap.courses import difficulty_of, make
from swap.env import EndReason
from swap.env.frame import heading_of
from swap.errors import UserError
from swap.runs.trained_robot import untrained
from swap.view.live.controls import base_of, plain_arm_of
from swap.view.live.driving import VelocityCommand
from swap.view.live.faults import Faults
from swap.view.live.gamepad import command_of
from swap.view.live.settings import CourseChoice, Settings
from swap.view.live.world import LiveWorld


@pytest.fixture(scope="module")
def robot():
    return swap.load("swap")


def course(family: str = "box", size: float = 0.4):
    return make(family, difficulty_of(family, size), np.random.default_rng(1))


def drive(world: LiveWorld, seconds: float) -> None:
    for _ in range(round(seconds / 0.02)):
        world.step()


def test_it_crosses_a_box_and_goes_on_after_the_end(robot):
    world = LiveWorld(robot, course(), command=VelocityCommand(1.0))
    drive(world, 8.0)
    reason, when_s = world.end
    assert reason == EndReason.SUCCESS
    assert 3 < when_s < 8
    x = float(world.env.engine.state.base_pos[0, 0])
    drive(world, 0.4)
    assert float(world.env.engine.state.base_pos[0, 0]) > x + 0.1


def test_commands_reach_the_robot_and_what_it_observes(robot):
    world = LiveWorld(robot, course("flat", 0.0), command=VelocityCommand(0.8, 0.1, 0.0))
    drive(world, 2.0)
    assert world.obs["command"][0, :2].tolist() == pytest.approx([0.8, 0.1])
    world.drive(VelocityCommand(0.6, 0.0, 0.7))
    before = float(heading_of(world.env.engine.state.base_quat)[0])
    drive(world, 2.0)
    assert world.obs["command"][0].tolist() == pytest.approx([0.6, 0.0, 0.7])
    turned = float(heading_of(world.env.engine.state.base_quat)[0]) - before
    assert 0.7 < turned < 3.0  # 1.4 were asked for
    # Let go, it holds the heading it has then, not the one of the start.
    world.drive(VelocityCommand(0.6))
    drive(world, 2.0)
    assert float(heading_of(world.env.engine.state.base_quat)[0]) - before > 0.5
    world.drive(VelocityCommand())
    drive(world, 1.0)
    speed = world.env.engine.state.base_lin_vel[0, :2].norm()
    assert float(speed) < 0.2


def test_the_second_robot_lives_the_mirror_image(robot):
    world = LiveWorld(
        robot,
        course("lateral_slope", 25.0),
        mirrored=True,
        command=VelocityCommand(1.0, 0.1, 0.2),
        faults=Faults(darkness=0.3, lost_frames=0.2, holes=0.3),
    )
    drive(world, 2.0)
    world.push(0.3, 0.5)
    drive(world, 1.0)
    first, second = world.env.engine.state.base_pos
    assert float(first[0]) > 1.5
    assert abs(float(first[1])) > 1e-3
    assert float(second[1]) == pytest.approx(-float(first[1]), abs=1e-6)
    assert world.apart_m < 1e-6
    # The figure is no constant: one blow to one of them shows.
    alone = torch.tensor([True, False])
    world.env.engine.push(alone, torch.full((2, 3), 0.3), torch.zeros(2, 3))
    drive(world, 0.2)
    assert world.apart_m > 1e-2


def test_a_reset_is_the_same_life_again(robot):
    world = LiveWorld(
        robot, course(), seed=5, command=VelocityCommand(1.0), faults=Faults(darkness=0.2)
    )
    drive(world, 1.0)
    first = world.env.engine.state.base_pos.clone()
    world.reset()
    assert world.steps == 0
    drive(world, 1.0)
    assert torch.equal(world.env.engine.state.base_pos, first)


def test_faults_change_what_is_simulated(robot):
    world = LiveWorld(robot, course())
    drive(world, 0.2)
    clear = float((world.seen[0] == 1).float().mean())
    world.set_faults(
        Faults(darkness=0.5, payload_kg=20.0, friction=0.3, strength=0.7, latency_s=0.4)
    )
    drive(world, 0.2)
    assert float((world.seen[0] == 1).float().mean()) > clear + 0.15
    drawn, camera = world.env.engine.drawn, world.env.camera
    told = drawn.payload[0], drawn.friction[0], drawn.strength[0, 3], camera.age_steps[0] * 0.02
    assert [float(x) for x in told] == pytest.approx([20.0, 0.3, 0.7, 0.4])
    world.reset()  # and they stay
    assert float(world.env.engine.drawn.payload[0]) == 20.0
    assert float(camera.age_steps[0]) * 0.02 == pytest.approx(0.4)


def test_darkness_blanks_the_share_it_is_told_and_mirrors(robot):
    plain = Faults(holes=0.0, lost_frames=0.0)
    world = LiveWorld(robot, course("box"), mirrored=True, faults=plain)
    drive(world, 0.3)
    lit = world.seen[0] < 1
    world = LiveWorld(robot, course("box"), mirrored=True, faults=replace(plain, darkness=0.75))
    drive(world, 0.3)
    assert float((world.seen[0] < 1).sum() / lit.sum()) == pytest.approx(0.25, abs=0.04)
    assert torch.equal(world.seen[1], world.seen[0].flip(-1))


@pytest.mark.parametrize("field", [x.name for x in fields(Faults)])
def test_no_fault_is_negative(field):
    with pytest.raises(UserError, match=field):
        Faults(**{field: -1.0})


def test_sticks_are_commands_and_nonsense_is_none():
    assert command_of("1 0 0") == VelocityCommand(2.0)
    assert command_of("-1 -1 0.5") == VelocityCommand(-0.5, -0.6, 0.5)
    assert command_of("9 9 9") == VelocityCommand(2.0, 0.6, 1.0)
    assert [command_of(x) for x in ("", "1 2", "a b c", "nan 0 0")] == [None] * 4


def test_the_plain_arm_of_a_model_is_found_by_its_name():
    known = ["other-no-eq", "swap", "swap-no-eq-matched", "teacher"]
    assert plain_arm_of("swap", known) == "swap-no-eq-matched"
    assert plain_arm_of("swap-no-eq-matched", known) == "swap-no-eq-matched"
    assert base_of("swap-no-eq-matched") == "swap"
    assert plain_arm_of("teacher", known) is None


def test_a_plain_robot_does_not_live_the_mirror_image():
    plain = untrained("swap-no-eq")
    world = LiveWorld(plain, course("flat", 0.0), mirrored=True, command=VelocityCommand(1.0))
    drive(world, 1.0)
    assert world.apart_m > 1e-3


def test_choices_are_checked_and_make_the_course_of_swap_play():
    with pytest.raises(UserError, match="box"):
        CourseChoice("box", 9.0)
    with pytest.raises(UserError, match="command"):
        VelocityCommand(99.0)
    with pytest.raises(UserError, match="rate"):
        Settings(rate=3.0)
    made = CourseChoice("tilted_box", 0.5, "right", seed=4).build()
    rng = np.random.default_rng(4)
    oracle = make("tilted_box", difficulty_of("tilted_box", 0.5), rng).mirror()
    assert np.array_equal(made.quat, oracle.quat)
    assert VelocityCommand(0.9).more(9, 9, -9) == VelocityCommand(3.0, 0.6, -1.0)
