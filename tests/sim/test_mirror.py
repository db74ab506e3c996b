"""Mirrored course, state, action and draw give mirrored motion, in both engines."""

from dataclasses import fields

import pytest
import torch

from swap.robots import load
from swap.sim import Draw, Ranges, draw, draw_push, mirror
from swap.sim.randomise import mirror_push
from swap.symmetry import VECTOR, trivial


def errors(engine, robot, w):
    """How far world 1 is from the mirror image of world 0, by quantity."""
    start, image = w.start_of(engine), w.mirror_start(w.start_of(engine), robot)
    found = {
        field.name: (getattr(start, field.name)[1] - getattr(image, field.name)[0]).abs().max()
        for field in fields(start)
    }
    joint, leg = robot.body.joint_rep, robot.body.leg_rep
    s = engine.state
    groups = leg + leg + leg + trivial()  # feet, thighs, shanks, trunk
    found["torque"] = (s.torque[1] - joint(s.torque[0])).abs().max()
    force = (groups @ VECTOR)(s.force[0].flatten()).view(13, 3)
    found["force"] = (s.force[1] - force).abs().max() / (1 + force.abs().max())
    feet = (leg @ VECTOR)(s.foot_pos[0].flatten()).view(4, 3)
    found["foot_pos"] = (s.foot_pos[1] - feet).abs().max()
    return {name: float(error) for name, error in found.items()}


def pair(name, robot, course, w):
    """Two worlds; the second has the mirrored randomisation of the first."""
    engine = w.make(name, robot, [course, course.mirror()])
    engine.assign(w.everyone(engine), torch.tensor([0, 1]))
    one = draw(Ranges(latency=(1, 3)), robot, 1, torch.Generator().manual_seed(3))
    two = mirror(one, robot)
    both = Draw(**{k: torch.cat([v, getattr(two, k)]) for k, v in vars(one).items()})
    engine.randomise(w.everyone(engine), both)
    start = w.start_of(engine)
    start.base_pos[0] += torch.tensor([0.02, 0.03, 0.2])
    start.base_lin_vel[0, 1] = 0.3
    start.joint_pos[0] += 0.1 * torch.randn(12, generator=torch.Generator().manual_seed(4))
    reflect(engine, start, w)
    return engine


def reflect(engine, start, w):
    """Put world 0 into its start and world 1 into the mirror image."""
    image = w.mirror_start(start, engine.robot)
    for field in fields(start):
        getattr(start, field.name)[1] = getattr(image, field.name)[0]
    engine.reset(w.everyone(engine), start)


@pytest.mark.parametrize("name", ["apollo", "go2"])
def test_float64_stays_mirrored_for_300_physics_steps(name, w):
    robot = load(name)
    engine = pair("cpu", robot, w.ROUGH, w)
    generator = torch.Generator().manual_seed(5)
    for k in range(75):
        action = torch.tensor(robot.default_pose) + 0.3 * torch.randn(12, generator=generator)
        engine.step(torch.stack([action, robot.body.joint_rep(action)]))
        if k == 30:
            kick, turn = draw_push(Ranges(), 1, generator)
            image = mirror_push(kick, turn)
            both = (torch.cat([kick, image[0]]), torch.cat([turn, image[1]]))
            engine.push(w.everyone(engine), *both)
        found = errors(engine, robot, w)
        assert max(found[k] for k in ("base_pos", "base_quat", "joint_pos", "foot_pos")) < 1e-6, k
        assert max(found.values()) < 1e-4, (k, found)  # velocities and torques are larger numbers
    assert engine.report().worlds == ()


def test_float32_stays_mirrored_for_a_control_step(w):
    """Each step starts from an exact mirror image; free-running float32 would drift apart."""
    robot = load("apollo")
    engine = pair("gpu", robot, w.ROUGH, w)
    generator = torch.Generator().manual_seed(5)
    worst = []
    for _ in range(60):
        action = torch.tensor(robot.default_pose) + 0.3 * torch.randn(12, generator=generator)
        engine.step(torch.stack([action, robot.body.joint_rep(action)]))
        found = errors(engine, robot, w)
        worst.append(max(found[k] for k in ("base_pos", "base_quat", "joint_pos", "foot_pos")))
        reflect(engine, w.start_of(engine), w)
    worst.sort()
    assert worst[len(worst) // 2] < 2e-6
    assert worst[-1] < 1e-4


def test_a_wrong_mirror_is_noticed(w):
    """Shows that the test above can fail: the same comparison without the abad signs."""
    robot = load("apollo")
    engine = pair("cpu", robot, w.ROUGH, w)
    action = torch.tensor(robot.default_pose) + 0.3
    engine.step(torch.stack([action, abs(robot.body.joint_rep)(action)]))
    assert errors(engine, robot, w)["joint_pos"] > 1e-3
