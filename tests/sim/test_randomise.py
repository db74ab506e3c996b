"""Draws stay in their ranges, mirror exactly, and reach the physics of both engines."""

from dataclasses import replace

import mujoco
import pytest
import torch

from swap.errors import UserError
from swap.robots import load
from swap.robots.mjcf import build_spec
from swap.sim import Ranges, draw, draw_push, mirror, nominal
from swap.sim.randomise import FIXED, contact_friction, contact_solref, mirror_push, reps


def test_draws_fill_their_ranges():
    robot, ranges = load("apollo"), Ranges(latency=(0, 4))
    given = draw(ranges, robot, 4000, torch.Generator().manual_seed(0))
    for name, values in vars(given).items():
        low, high = getattr(ranges, name)
        scale = robot.mass if name == "payload" else 1
        assert values.min() >= low * scale - 1e-6
        assert values.max() <= high * scale + 1e-5
        assert values.float().std() > 0.2 * (high - low) * scale
    assert set(given.latency.tolist()) == {0, 1, 2, 3, 4}
    again = draw(ranges, robot, 4000, torch.Generator().manual_seed(0))
    assert all(torch.equal(v, getattr(again, k)) for k, v in vars(given).items())


def test_all_motors_of_a_robot_may_damp_more_together():
    robot, plain = load("apollo"), Ranges()
    more = replace(plain, damping=(1.0, 1.5))
    given, damped = (draw(r, robot, 500, torch.Generator().manual_seed(3)) for r in (plain, more))
    share = damped.kd / given.kd
    assert torch.allclose(share, share[:, :1].expand_as(share))
    assert 1.0 <= share.min() < 1.02 < 1.48 < share.max() <= 1.5 + 1e-6
    others = [name for name in vars(given) if name != "kd"]
    assert all(torch.equal(getattr(given, name), getattr(damped, name)) for name in others)
    image = mirror(damped, robot)
    assert torch.equal(mirror(image, robot).kd, damped.kd)


def test_mirroring_twice_changes_nothing():
    robot = load("go2")
    given = draw(Ranges(), robot, 5, torch.Generator().manual_seed(0))
    image = mirror(given, robot)
    assert torch.equal(image.kp[:, :3], given.kp[:, 3:6])
    assert torch.equal(image.com, given.com * torch.tensor([1.0, -1.0, 1.0]))
    back = mirror(image, robot)
    assert all(torch.equal(v, getattr(back, k)) for k, v in vars(given).items())
    assert set(reps(robot)) == set(vars(given))
    push = draw_push(Ranges(), 3, torch.Generator().manual_seed(1))
    assert push[0][:, 2].abs().max() == 0
    assert torch.equal(mirror_push(*mirror_push(*push))[1], push[1])


def test_wrong_ranges_are_refused():
    for facts, message in (
        ({"friction": (2.0, 0.5)}, "runs backwards"),
        ({"kp": (0.0, 1.0)}, "above zero"),
        ({"damping": (0.0, 1.0)}, "above zero"),
        ({"restitution": (0.0, 1.0)}, "below 1"),
        ({"latency": (0, 5)}, "at most 4"),
        ({"payload": (-0.1, 0.1)}, "zero or above"),
    ):
        with pytest.raises(UserError, match=message):
            Ranges(**facts)
    assert Ranges() != FIXED


def test_friction_of_a_course_that_needs_grip_is_kept():
    drawn, course = torch.tensor([0.5, 2.5, 0.5]), torch.tensor([1.9, 1.9, 0.0])
    want = torch.tensor([1.9, 2.5, 0.5])
    torch.testing.assert_close(contact_friction(drawn, course), want)


def test_nominal_contacts_are_those_of_the_model():
    model = build_spec(load("go2"), slots=1).compile()
    torch.testing.assert_close(
        contact_solref(torch.zeros(1))[0].double(), torch.tensor(model.geom_solref[0])
    )


def test_restitution_is_the_rebound_of_a_ball():
    """A sphere dropped on a box in MuJoCo rebounds with about the requested share of its speed."""
    for wish in (0.0, 0.2, 0.4, 0.7):
        spec = mujoco.MjSpec()
        spec.option.timestep = 0.001
        solref = contact_solref(torch.tensor([wish]))[0].numpy()
        box = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=(1, 1, 0.1))
        box.priority, box.solref = 1, solref
        ball = spec.worldbody.add_body(pos=(0, 0, 0.7))
        ball.add_freejoint()
        ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.1, 0, 0), mass=1.0)
        model = spec.compile()
        data = mujoco.MjData(model)
        speed = []
        while data.time < 0.6:
            mujoco.mj_step(model, data)
            speed.append(data.qvel[2])
        rebound = max(speed) / -min(speed)
        assert rebound == pytest.approx(max(wish, 0.135), abs=0.05), wish


def standing(engine_name, w, robot="apollo", steps=120, **parts):
    """World 0 is nominal, world 1 has these parts of the draw; both hold the default pose."""
    engine = w.make(engine_name, robot)
    given = nominal(engine.robot, 2)
    changed = {k: torch.full_like(getattr(given, k), v) for k, v in parts.items()}
    engine.randomise(w.only(engine, 1), replace(given, **changed))
    w.hold(engine, steps)
    return engine


def test_a_heavier_robot_sags_and_weighs_more(engine_name, w):
    s = standing(engine_name, w, payload=15.0).state
    assert s.base_pos[1, 2] < s.base_pos[0, 2] - 0.005
    more = s.foot_force[1, :, 2].sum() - s.foot_force[0, :, 2].sum()
    assert more == pytest.approx(15 * 9.81, rel=0.15)
    s = standing(engine_name, w, link_mass=1.2).state
    more = s.foot_force[1, :, 2].sum() - s.foot_force[0, :, 2].sum()
    assert more == pytest.approx(0.2 * 32.2 * 9.81, rel=0.3)


def test_weaker_gains_and_motors_sag(engine_name, w):
    for part in ("kp", "strength"):
        s = standing(engine_name, w, **{part: 0.8}).state
        assert s.base_pos[1, 2] < s.base_pos[0, 2] - 0.005


def test_a_shifted_centre_of_mass_loads_one_side(engine_name, w):
    engine = w.make(engine_name)
    given = nominal(engine.robot, 2)
    given.com[:, 1] = 0.05
    engine.randomise(w.only(engine, 1), given)
    w.hold(engine, 120)
    left, right = (engine.state.foot_force[:, side, 2].sum(1) for side in ([0, 2], [1, 3]))
    assert left[0] == pytest.approx(float(right[0]), rel=0.02)
    assert left[1] > right[1] + 50


def test_less_grip_slides_further(engine_name, w):
    engine = w.make(engine_name)
    given = nominal(engine.robot, 2)
    given.friction[:] = torch.tensor([1.0, 0.05])
    engine.randomise(w.everyone(engine), given)
    w.hold(engine, 50)
    feet = engine.state.foot_pos.clone()
    engine.push(w.everyone(engine), torch.tensor([[0.8, 0.0, 0.0]] * 2), torch.zeros(2, 3))
    w.hold(engine, 25)
    moved = (engine.state.foot_pos - feet)[:, :, 0].mean(1)
    assert moved[0] < 0.08
    assert moved[1] > 0.15


def test_latency_delays_the_torque(engine_name, w):
    """With a latency of four physics steps, targets act exactly one control step later."""
    engine = w.make(engine_name)
    given = nominal(engine.robot, 2)
    given.latency[1] = 4
    engine.randomise(w.everyone(engine), given)
    pose = torch.tensor(engine.robot.default_pose).repeat(2, 1)
    engine.step(pose)
    assert torch.equal(engine.state.torque[0], engine.state.torque[1])
    lifted = pose + 0.2
    engine.step(lifted)
    assert (engine.state.torque[0] - engine.state.torque[1]).abs().max() > 10
    given.latency[1] = 2
    engine.randomise(w.everyone(engine), given, bodies=False)
    engine.reset(w.everyone(engine))
    engine.step(lifted)
    assert (engine.state.joint_pos[0] - engine.state.joint_pos[1]).abs().max() > 1e-3


def test_bodies_false_leaves_masses_alone(engine_name, w):
    engine = w.make(engine_name)
    heavy = replace(nominal(engine.robot, 2), payload=torch.full((2,), 20.0))
    engine.randomise(w.only(engine, 1), heavy, bodies=False)
    w.hold(engine, 60)
    assert torch.equal(engine.state.base_pos[0], engine.state.base_pos[1])
