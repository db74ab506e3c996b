"""The other simulator: its camera, its motors, its referee, and a whole trial over the link."""

import os
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

import tiny_swap
from ctrl_c import swap_until_ctrl_c
from sim2sim_scene import MOTORS, ROBOT, hold, trial
from swap.cli.main import dispatch
from swap.courses import stack
from swap.errors import UserError
from swap.sensors import DepthRenderer, OpticsCfg
from swap.sim2sim.body import SimulatedRobot
from swap.sim2sim.camera import Camera
from swap.sim2sim.cfg import SUCCESS, SimCfg
from swap.sim2sim.measure import Simulation, measure
from swap.sim2sim.referee import Referee

EXACT = SimCfg(
    gyro_rps=0.0,
    attitude_rad=0.0,
    joint_pos_rad=0.0,
    joint_vel_rps=0.0,
    friction=(1.0, 1.0),
    payload=(0.0, 0.0),
    com_m=0.0,
    link_mass=(1.0, 1.0),
    gains=(1.0, 1.0),
    strength=(1.0, 1.0),
    start_m=(0.0, 0.0),
    start_yaw_rad=0.0,
)


@pytest.mark.parametrize("family", ["box", "gap", "rocks"])
def test_its_camera_sees_what_trainings_sees(bundle, family):
    """Clean images of one pose, by MuJoCo's rays and by training's kernels."""
    told = trial(family)
    body = SimulatedRobot(ROBOT, MOTORS, EXACT, told)
    z = Camera(body, bundle.spec.camera, told, "rays").clean()
    optics = OpticsCfg()
    ours = DepthRenderer(optics, ROBOT.camera, 1, told.course.n)
    qpos = torch.tensor(body.data.qpos[None], dtype=torch.float32)
    image = ours(stack([told.course], told.course.n), qpos[:, :3].clone(), qpos[:, 3:7].clone())
    want = optics.metres(image)[0].numpy()
    seen = (want < optics.far_m) & (z > 0)
    assert seen.mean() > 0.2
    # Boxes that meet in an edge: a ray that grazes it may fall on either side.
    assert np.quantile(np.abs(z - want)[seen], 0.995) < 1e-3
    assert ((want >= optics.far_m) == ((z == 0) | (z >= optics.far_m))).mean() > 0.995


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="needs MUJOCO_GL=egl")
def test_its_renderer_sees_what_its_rays_see(bundle):
    told = trial("rocks")
    camera = Camera(SimulatedRobot(ROBOT, MOTORS, EXACT, told), bundle.spec.camera, told, "gl")
    rays, picture = camera.clean(), camera.rendered()
    both = (rays > 0) & (picture > 0) & (rays < 5)
    assert np.quantile(np.abs(rays - picture)[both], 0.99) < 1e-3


def test_faults_of_the_camera_leave_what_is_seen_alone(bundle):
    told = trial()
    camera = Camera(SimulatedRobot(ROBOT, MOTORS, EXACT, told), bundle.spec.camera, told, "rays")
    clean, image = camera.clean(), camera.take().metres
    kept = (image > 0) & (clean > 0)
    assert 0.5 < kept.sum() / (clean > 0).sum() < 1.0
    assert not np.any(image[clean == 0])
    error = (image - clean)[kept & (clean < 2)]
    assert 0.005 < error.std() < 0.04
    assert abs(error.mean()) < 0.002


def test_motors_are_matched_by_name_and_obey():
    body = SimulatedRobot(ROBOT, MOTORS, EXACT, trial("flat", 0.0))
    told = hold()
    for _ in range(1000):
        body.step(told)
    pose = body.data.qpos[7:]
    np.testing.assert_allclose(pose, ROBOT.default_pose, atol=0.2)
    assert body.data.qpos[2] == pytest.approx(ROBOT.stance, abs=0.08)
    state = body.state()
    for k, motor in enumerate(MOTORS):
        angle = motor.sign * (state.pos[k] - motor.zero_rad)
        assert angle == pytest.approx(pose[ROBOT.joint_names.index(motor.joint)])


def test_no_motor_gives_more_than_it_has():
    body = SimulatedRobot(ROBOT, MOTORS, SimCfg(), trial("flat", 0.0))
    wild = replace(hold(), torque=np.full(12, 1e5))
    for _ in range(50):
        body.step(wild)
        peak = np.array([joint.motor.torque for joint in ROBOT.joints])
        assert np.all(np.abs(body.data.ctrl) <= peak + 1e-9)
    assert body.torque_share > 100


def test_errors_and_masses_follow_from_the_seed():
    one, same, other = (SimulatedRobot(ROBOT, MOTORS, SimCfg(), trial(k=k)) for k in (1, 1, 2))
    np.testing.assert_array_equal(one.model.body_mass, same.model.body_mass)
    np.testing.assert_array_equal(one.state().pos, same.state().pos)
    assert not np.array_equal(one.model.body_mass, other.model.body_mass)


def referee(told, place, quat=(1, 0, 0, 0)):
    body = SimulatedRobot(ROBOT, MOTORS, EXACT, told)
    body.data.qpos[:3], body.data.qpos[3:7] = place, quat
    mujoco.mj_forward(body.model, body.data)
    judge = Referee(body, told.course, 20.0)
    judge.begin()
    return judge


def test_the_referee_knows_success_and_its_opposite():
    told = trial("box", 0.4)
    course = told.course
    beyond = (course.goal_x + 1.5, 0.0, course.goal_z + ROBOT.stance)
    judge = referee(told, beyond)
    looks = [judge.look() for _ in range(25)]
    assert looks[:24] == [None] * 24
    assert looks[24] == SUCCESS
    assert referee(told, (0, course.lane + 0.1, 0.6)).look() == "off lane"
    assert referee(told, (0, 0, -1.5)).look() == "fallen"
    assert referee(told, (0, 0, 0.6), (0, 1, 0, 0)).look() == "upside down"
    judge = referee(told, (0, 0, ROBOT.stance))
    looks = [judge.look() for _ in range(100)]
    assert looks[-1] == "stalled"
    assert looks[:-1] == [None] * 99


def test_a_trial_depends_on_its_seed_alone(bundle):
    """Lock-step over shared memory with another process, twice."""
    told = replace(trial("flat", 0.0), time_s=0.6)
    with Simulation(bundle) as simulation:
        first = simulation.run(told)
        events = list(simulation.events)
        again = simulation.run(told)
    assert first == again
    assert events == simulation.events
    modes = [what for _, what in events]
    assert modes[:4] == ["stand up", "blend in", "run"][: len(modes[:4])]
    assert "run" in modes


@pytest.mark.parametrize("after_s", [0.3, 4.0], ids=["imports", "lives a trial"])
def test_ctrl_c_leaves_no_traceback_and_no_link(bundle, after_s, tmp_path):
    words = ["sim2sim", bundle.path, "--family", "flat", "--trials", "1000"]
    pid, code, told = swap_until_ctrl_c(tmp_path, *words, after_s=after_s)
    assert (code, told.splitlines()[-1]) == (130, "swap: stopped")
    assert "Process" not in told
    assert "Traceback" not in told
    assert [*Path("/dev/shm").glob(f"swap-sim2sim-{pid}-*")] == []


def test_a_mistake_that_the_robots_process_finds_is_one_line(bundle, monkeypatch, capfd):
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(display, raising=False)
    with pytest.raises(UserError, match=r"renderer does not work here .*; set MUJOCO_GL=egl"):
        [*measure(bundle, [("flat", 0.0)], trials=1, renderer="gl")]
    assert capfd.readouterr().err == ""


def test_rows_are_as_swap_eval_has_them(bundle):
    (row,) = measure(bundle, [("flat", 0.0)], trials=1)
    assert row["trials"] == 1
    assert row["success"] in (0.0, 1.0)
    assert 0 <= row["low"] <= row["success"] <= row["high"] <= 1


def test_a_configuration_that_cannot_be():
    with pytest.raises(UserError, match="image_latency_s"):
        SimCfg(image_latency_s=(0.2, 0.1))


@pytest.mark.parametrize("seed", [0, 7])
def test_another_model_beside_is_told(bundle, seed, monkeypatch, capsys):
    robot = tiny_swap.robot()
    robot = replace(robot, cfg=replace(robot.cfg, seed=seed))  # other weights of the same name
    monkeypatch.setattr("swap.runs.trained_robot.load_trained", lambda path: robot)
    monkeypatch.setattr("swap.sim2sim.measure.measure", lambda *_, **__: [{"success": 0.0}])
    monkeypatch.setattr(
        "swap.evaluate.success.measure",
        lambda *_, **__: [{"success": 0.0, "low": 0.0, "high": 0.0}],
    )
    words = ["sim2sim", str(bundle.path), "--family", "flat", "--points", "1", "--trials", "1"]
    assert dispatch([*words, "--beside", "model"]) == 0
    said = "model is not what the bundle was made of (swap, iteration 0): these are two robots."
    assert (capsys.readouterr().out.count(said) == 2) == (seed != 0)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_as_trained_has_the_cones_of_the_model_beside(bundle, cone, monkeypatch):
    robot = tiny_swap.robot()
    robot = replace(robot, cfg=replace(robot.cfg, env=replace(robot.cfg.env, friction_cone=cone)))
    seen = []

    def remember(bundle, points, *, cfg, **_):
        seen.append(cfg)
        return [{"success": 0.0}]

    monkeypatch.setattr("swap.runs.trained_robot.load_trained", lambda path: robot)
    monkeypatch.setattr("swap.sim2sim.measure.measure", remember)
    monkeypatch.setattr(
        "swap.evaluate.success.measure",
        lambda *_, **__: [{"success": 0.0, "low": 0.0, "high": 0.0}],
    )
    words = ["sim2sim", str(bundle.path), "--family", "flat", "--points", "1", "--trials", "1"]
    assert dispatch([*words, "--as-trained", "--beside", "model"]) == 0
    assert seen[0].timestep_s == 0.005
    option = SimulatedRobot(ROBOT, MOTORS, seen[0], trial()).model.opt
    assert option.cone == getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
