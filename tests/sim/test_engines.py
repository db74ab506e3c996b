"""Both engines let robots stand and land, change courses, contain divergence, and refuse wrong
input."""

from dataclasses import fields, replace

import pytest
import torch
from mujoco.batch import Batch

from swap.errors import UserError
from swap.robots import load
from swap.robots.mjcf import force_groups
from swap.sim import FaultReport, make_engine
from swap.sim.engine import FEET, SHANKS, THIGHS, TRUNK
from swap.sim.gpu import GpuEngine


@pytest.mark.parametrize("robot", ["apollo", "go2"])
def test_forces_are_in_the_order_in_which_the_model_reports_them(robot):
    groups, legs = force_groups(load(robot)), load(robot).legs
    for part, where in (("foot", FEET), ("thigh", THIGHS), ("shank", SHANKS)):
        assert groups[where] == tuple(f"{leg.name}_{part}" for leg in legs)
    assert groups[TRUNK] == "trunk"
    assert len(groups) == TRUNK + 1


@pytest.mark.parametrize("robot", ["apollo", "go2"])
def test_default_pose_stands_for_five_seconds(engine_name, robot, w):
    engine = w.make(engine_name, robot)
    w.hold(engine, 250)
    s = engine.state
    assert s.base_lin_vel.norm(dim=1).max() < 0.03
    assert s.base_quat[:, 0].abs().min() > 0.999
    sag = engine.robot.stance - s.base_pos[:, 2]
    assert (sag > 0).all()
    assert (sag < 0.08 * engine.robot.stance + 0.01).all()
    weight = engine.robot.mass * 9.81
    torch.testing.assert_close(
        s.foot_force[:, :, 2].sum(1), torch.full((2,), weight), rtol=0.05, atol=0
    )
    assert s.thigh_force.abs().max() == s.shank_force.abs().max() == s.trunk_force.abs().max() == 0
    torch.testing.assert_close(s.time, torch.full((2,), 5.0), atol=1e-3, rtol=0)
    assert engine.report() == FaultReport()


def test_robot_lands_on_a_box_and_not_through_it(engine_name, w):
    engine = w.make(engine_name, bank=[w.FLAT, w.HIGH])
    engine.assign(w.everyone(engine), torch.tensor([1, 1]))
    engine.reset(w.everyone(engine))
    torch.testing.assert_close(
        engine.state.base_pos[:, 2], torch.full((2,), 0.5 + engine.robot.stance)
    )
    start = w.start_of(engine)
    start.base_pos[:, 2] += 0.3
    start.base_quat[1] = torch.tensor([0.0, 1.0, 0.0, 0.0])  # on its back
    engine.reset(w.everyone(engine), start)
    w.hold(engine, 100)
    height = engine.state.base_pos[:, 2]
    assert 0.5 + 0.45 < height[0] < 0.5 + 0.62
    assert 0.5 + 0.05 < height[1] < 0.5 + 0.25
    assert engine.state.trunk_force[1, 2] > 300
    assert engine.state.trunk_force[0].abs().max() == 0


def test_courses_are_swapped_while_running(engine_name, w):
    wall = w.course(([0, 0, -0.5], [20, 20, 0.5]), ([0, 0, 1.5], [0.2, 0.2, 1.0]))
    engine = w.make(engine_name, bank=[w.FLAT, w.HIGH, wall], n=3)
    engine.assign(w.everyone(engine), torch.tensor([0, 1, 2]))
    assert engine.boxes.count.tolist() == [1, 1, 2]
    engine.reset(w.only(engine, 0, 1))
    w.hold(engine, 20)
    before = w.start_of(engine)
    engine.assign(w.only(engine, 1, 2), torch.tensor([9, 0, 0]))  # 0 is not in the mask
    assert engine.course_id.tolist() == [0, 0, 0]
    assert engine.boxes.count.tolist() == [1, 1, 1]
    engine.reset(w.only(engine, 1, 2))
    assert torch.equal(engine.state.base_pos[0], before.base_pos[0])
    w.hold(engine, 100)
    # The high box and the wall are gone: everyone stands on the ground.
    assert (engine.state.base_pos[:, 2] < 0.61).all()
    assert (engine.state.base_pos[:, 2] > 0.50).all()
    assert engine.state.trunk_force.abs().max() == 0
    engine.replace([0], [w.HIGH])
    assert engine.boxes.half[0, 0, 0] == 20  # not before the next assign
    engine.assign(w.only(engine, 0), torch.tensor([0, 0, 0]))
    engine.reset(w.only(engine, 0))
    w.hold(engine, 50)
    assert 1.0 < engine.state.base_pos[0, 2] < 1.11
    assert engine.state.base_pos[1, 2] < 0.61


@pytest.mark.parametrize("where", ["state", "targets"])
def test_a_nan_is_contained_and_counted(engine_name, where, w):
    def run(poison):
        engine = w.make(engine_name, bank=[w.ROUGH], n=3)
        pose = torch.tensor(engine.robot.default_pose).repeat(3, 1)
        generator = torch.Generator().manual_seed(0)
        for k in range(12):
            targets = pose + 0.1 * torch.randn(3, 12, generator=generator)
            if poison and k == 5 and where == "state":
                start = w.start_of(engine)
                start.joint_vel[1, 3] = float("nan")
                engine.reset(w.only(engine, 1), start)
            if poison and k == 5 and where == "targets":
                targets[1, 2] = float("inf")
            engine.step(targets)
        return engine

    clean, hurt = run(False), run(True)
    told = hurt.report()
    assert told == FaultReport(nonfinite=1, worlds=(1,))
    assert hurt.report() == FaultReport()
    assert hurt.state.failed.tolist() == [False, True, False]
    for field in fields(clean.state):
        a, b = getattr(clean.state, field.name), getattr(hurt.state, field.name)
        assert torch.equal(a[[0, 2]], b[[0, 2]]), field.name
        assert torch.isfinite(b.float()).all(), field.name
    # It was put back to standing at its start and went on from there.
    assert hurt.state.time[1] < clean.state.time[1]
    hurt.reset(w.only(hurt, 1))
    assert not hurt.state.failed.any()
    w.hold(hurt, 20)
    assert hurt.report() == FaultReport()


def test_a_world_faster_than_any_robot_is_contained(engine_name, w):
    engine = w.make(engine_name)
    engine.push(w.only(engine, 0), torch.full((2, 3), 2e4), torch.zeros(2, 3))
    w.hold(engine, 1)
    assert engine.state.failed.tolist() == [True, False]
    assert engine.report() == FaultReport(nonfinite=1, worlds=(0,))


def test_rows_that_do_not_fit_are_reported(w):
    """Four feet on the ground need 16 rows; a robot in the air needs none."""
    engine = w.make("gpu", njmax=12)
    start = w.start_of(engine)
    start.base_pos[1, 2] += 2.0
    engine.reset(w.everyone(engine), start)
    w.hold(engine, 5)
    told = engine.report()
    assert told.overflow > 0
    assert told.worlds == (0,)
    assert engine.state.failed.tolist() == [True, False]
    assert told.pool_overflow == 0


def test_a_full_pool_is_reported(w):
    engine = w.make("gpu", nconmax=2)
    w.hold(engine, 5)
    assert engine.report().pool_overflow > 0


def test_memory_that_does_not_suffice_is_reported(w, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its log beside the caller
    engine = w.make("cpu", memory=12_000)
    w.hold(engine, 3)
    told = engine.report()
    assert told.overflow + told.nonfinite > 0
    assert engine.state.failed.all()


def test_push_adds_to_the_velocity(engine_name, w):
    engine = w.make(engine_name)
    before = w.start_of(engine)
    kick, turn = torch.tensor([[0.5, -0.2, 0.1]] * 2), torch.tensor([[0.1, 0.2, 0.3]] * 2)
    engine.push(w.only(engine, 1), kick, turn)
    s = engine.state
    assert torch.equal(s.base_lin_vel[0], before.base_lin_vel[0])
    torch.testing.assert_close(s.base_lin_vel[1], kick[1])
    torch.testing.assert_close(s.base_ang_vel[1], turn[1])


def test_storage_never_moves(engine_name, w):
    engine = w.make(engine_name)
    held = {field.name: getattr(engine.state, field.name) for field in fields(engine.state)}
    at = {name: tensor.data_ptr() for name, tensor in held.items()}
    boxes = engine.boxes.pos.data_ptr()
    w.hold(engine, 2)
    engine.assign(w.everyone(engine), torch.zeros(2, dtype=torch.long))
    engine.reset(w.everyone(engine))
    w.hold(engine, 2)
    for name, tensor in held.items():
        assert tensor.data_ptr() == at[name] == getattr(engine.state, name).data_ptr()
        assert tensor.dtype == (torch.bool if name == "failed" else torch.float32)
    assert engine.boxes.pos.data_ptr() == boxes
    assert engine.state.foot_pos.data_ptr() != 0
    assert held["time"][0] == pytest.approx(0.04)


def test_nonsense_is_refused_in_one_line(engine_name, w):
    engine = w.make(engine_name)
    everyone, ids = w.everyone(engine), torch.zeros(2, dtype=torch.long)
    cases = [
        (lambda: engine.step(torch.zeros(2, 11)), r"targets has shape \[2, 11\]; give \[2, 12\]"),
        (lambda: engine.reset(torch.ones(2)), "mask is torch.float32; give a bool"),
        (lambda: engine.reset(torch.ones(3, dtype=torch.bool)), r"mask has shape \[3\]"),
        (lambda: engine.assign(everyone, ids[:1]), "course_id has shape"),
        (lambda: engine.replace([1], [w.FLAT]), "one course for each id in 0..0"),
        (lambda: engine.push(everyone, torch.zeros(2, 2), torch.zeros(2, 3)), "has shape"),
        (lambda: engine.step(torch.zeros(2, 12, device="meta")), "on meta, the engine on cpu"),
        (lambda: w.make(engine_name, bank=[]), "no course"),
        (lambda: w.make(engine_name, n=0), "0 worlds"),
    ]
    for act, message in cases:
        with pytest.raises(UserError, match=message) as caught:
            act()
        assert "\n" not in str(caught.value)


def test_engines_by_name(w):
    assert make_engine("cpu", load("go2"), [w.FLAT], 2, threads=1).n == 2
    with pytest.raises(UserError, match="unknown engine 'gpus'; did you mean 'gpu'"):
        make_engine("gpus", load("go2"), [w.FLAT], 2)
    with pytest.raises(UserError, match=r"use 0\.\.0"):
        w.make("cpu").assign(torch.ones(2, dtype=torch.bool), torch.tensor([0, 3]))
    assert make_engine("gpu", load("go2"), [w.FLAT], 2, slots=w.SLOTS).n == 2
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="no GPU for device 'cuda'"):
            GpuEngine(load("go2"), [w.FLAT], 2)


def test_a_course_with_too_many_boxes_is_refused(engine_name, w):
    crowd = replace(w.FLAT, **{k: getattr(w.FLAT, k).repeat(9, 0) for k in ("pos", "quat", "half")})
    with pytest.raises(UserError, match="has 9 boxes, a world holds 8"):
        w.make(engine_name, bank=[crowd])


def test_one_world_is_enough(engine_name, w):
    engine = w.make(engine_name, n=1, bank=[w.HIGH])
    w.hold(engine, 50)
    assert 1.0 < engine.state.base_pos[0, 2] < 1.11


def test_the_cpu_engine_has_as_many_threads_as_torch(monkeypatch, w):
    found = []

    def batch(model, n, threads):
        found.append(threads)
        return Batch(model, n, threads)

    monkeypatch.setattr("swap.sim.cpu_models.Batch", batch)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    w.make("cpu", threads=0)
    w.make("cpu", threads=1)
    assert found == [3, 1]
