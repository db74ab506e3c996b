"""Depth and observations that a controller makes of messages are those that training made."""

import numpy as np
import pytest
import torch

import tiny_swap
from swap.deploy.depth import DepthBuffer, DepthPreparation, Lens, training_lens
from swap.deploy.joints import JointMap, MotorChannel
from swap.deploy.messages import DepthImage, Operator, RobotState
from swap.deploy.observations import ObservationBuilder, gravity_of, heading_of
from swap.env.frame import heading_of as training_heading
from swap.env.frame import into_body
from swap.errors import UserError
from swap.evaluate.success import course_of, trials_env
from swap.world_model import DepthCodec


@pytest.fixture(scope="module")
def env():
    """One world of a box course, without errors of what the robot feels of itself."""
    from dataclasses import replace

    from swap.env import ObservationNoiseCfg

    cfg = replace(tiny_swap.CFG.env, noise=ObservationNoiseCfg(0, 0, 0, 0))
    course = course_of("box", 0.3, 0, seed=0, side="both")
    return trials_env(cfg, [course], 1.0, "cpu", 0)


def test_prepared_depth_is_trainings(bundle, env):
    """Noisy images of training's camera, holes as a camera tells them (0, NaN, below 0)."""
    camera = bundle.spec.camera
    codec = DepthCodec(camera.near_m, camera.far_m, camera.bend)
    optics, prepare = env.cfg.camera.optics, DepthPreparation(camera)
    env.reset()
    holes = 0
    for step in range(30):
        obs = env.step(torch.zeros(1, 12)).obs
        noisy = obs["depth_noisy"]
        metres = optics.metres(noisy)[0].numpy().copy()
        unseen = noisy[0].numpy() >= 1
        metres[unseen] = (0.0, np.nan, -1.0, np.inf)[step % 4]
        holes += int(unseen.sum())
        want = codec.from_linear(noisy)[0].numpy()
        np.testing.assert_allclose(prepare(metres), want, atol=2e-6)
    assert holes > 100


def test_near_and_far_are_clipped(bundle):
    camera = bundle.spec.camera
    codec = DepthCodec(camera.near_m, camera.far_m, camera.bend)
    z = np.full((camera.rows, camera.cols), 1.0, np.float32)
    z[0, :5] = 0.01, camera.near_m, camera.far_m, 100.0, 3.3
    want = codec.from_metres(torch.from_numpy(z)).numpy()
    np.testing.assert_allclose(DepthPreparation(camera)(z), want, atol=2e-6)


def test_a_camera_of_another_lens_sees_the_same_wall(bundle):
    """A plane, seen by a finer camera with less height: same numbers within, nothing outside."""
    camera = bundle.spec.camera
    lens = Lens(rows=96, cols=160, fx=80.0, fy=80.0, cx=79.5, cy=47.5)

    def plane(eye):
        right = (np.arange(eye.cols) - eye.cx) / eye.fx
        down = (np.arange(eye.rows) - eye.cy) / eye.fy
        return (2.0 / (1 + 0.3 * right[None] + 0.2 * down[:, None])).astype(np.float32)

    ours = DepthPreparation(camera)(plane(training_lens(camera)))
    theirs = DepthPreparation(camera, lens)(plane(lens))
    seen = np.abs(np.arange(camera.rows) - (camera.rows - 1) / 2) * camera.pixel * 80 < 47
    np.testing.assert_allclose(theirs[seen], ours[seen], atol=0.01)
    np.testing.assert_array_equal(theirs[~seen], 0.5)
    assert 0 < seen.sum() < camera.rows


def test_an_image_of_another_size_is_refused(bundle):
    with pytest.raises(UserError, match="the lens has"):
        DepthPreparation(bundle.spec.camera)(np.ones((3, 3), np.float32))


def test_the_image_that_is_read_is_as_old_as_in_training(bundle):
    """Of a camera at 30 Hz whose images come 50 ms late."""
    buffer, low, high = DepthBuffer(bundle.spec.camera), *bundle.spec.camera.age_s
    assert buffer.get(0.0) is None
    for k in range(60):
        taken = k / 30
        buffer.put(DepthImage(taken, np.ones((1, 1))))
        if k > 10:
            assert low <= taken + 0.05 - buffer.get(taken + 0.05).time_s <= high


def test_observations_are_trainings(bundle, env):
    """Random actions, and states as messages of a robot with motors of its own order and sense."""
    spec, draw = bundle.spec, torch.Generator().manual_seed(0)
    order = np.random.default_rng(1).permutation(12)
    motors = [MotorChannel(spec.joint_names[k], (-1) ** int(k), 0.1 * int(k)) for k in order]
    joints, mine = JointMap(spec, motors), ObservationBuilder(spec)
    obs = env.reset()
    for _ in range(25):
        s = env.engine.state
        pos = np.array([m.sign * s.joint_pos[0, k] + m.zero_rad for m, k in zip(motors, order)])  # noqa: B905
        vel = np.array([m.sign * s.joint_vel[0, k] for m, k in zip(motors, order)])  # noqa: B905
        quat, gyro = s.base_quat[0].numpy(), s.base_ang_vel[0].numpy()
        state = RobotState(0.0, quat, gyro, pos, vel, vel)
        command = mine.command(Operator("", 1.0, heading_rad=0.0), quat)
        felt, history = mine.observe(gyro, gravity_of(quat), *joints.joints(state), command)
        np.testing.assert_allclose(command, obs["command"][0], atol=1e-6)
        np.testing.assert_allclose(felt, obs["proprioception"][0], atol=1e-5)
        np.testing.assert_allclose(history, obs["history"][0], atol=1e-5)
        action = torch.randn(1, 12, generator=draw) * 0.3
        mine.action = action[0].numpy()
        step = env.step(action)
        obs = step.obs
        assert not bool(step.terminated | step.truncated)


def test_gravity_and_heading_are_trainings():
    quat = torch.nn.functional.normalize(torch.randn(50, 4, dtype=torch.float64), dim=1)
    down = torch.tensor([0.0, 0.0, -1.0], dtype=torch.float64).expand(50, 1, 3)
    want, turned = into_body(quat, down)[:, 0], training_heading(quat)
    for k in range(50):
        np.testing.assert_allclose(gravity_of(quat[k].numpy()), want[k], atol=1e-12)
        assert heading_of(quat[k].numpy()) == pytest.approx(float(turned[k]))


def test_commands_stay_within_trainings(bundle):
    mine, level = ObservationBuilder(bundle.spec), np.array([1.0, 0, 0, 0])
    wild = mine.command(Operator("", 99.0, -99.0, 99.0), level)
    c = bundle.spec.command
    assert wild.tolist() == [c.forward_mps[1], c.left_mps[0], c.yaw_rps]


@pytest.mark.parametrize("nonsense", [float("nan"), float("inf"), -float("inf")])
def test_a_command_that_is_not_finite_is_to_stand(bundle, nonsense):
    mine, level = ObservationBuilder(bundle.spec), np.array([1.0, 0, 0, 0])
    assert mine.command(Operator("", nonsense, nonsense, nonsense), level).tolist() == [0, 0, 0]
    assert mine.command(Operator("", heading_rad=nonsense), level).tolist() == [0, 0, 0]
    fine = 0.5 * bundle.spec.command.forward_mps[1]
    assert mine.command(Operator("", fine, nonsense), level).tolist() == [fine, 0, 0]


def test_joints_are_matched_by_name(bundle):
    spec = bundle.spec
    motors = [MotorChannel(name) for name in spec.joint_names]
    with pytest.raises(UserError, match="FL_hip"):
        JointMap(spec, [MotorChannel("FL_hup") if m.joint == "FL_hip" else m for m in motors])
    with pytest.raises(UserError, match="two motors"):
        JointMap(spec, [*motors, motors[0]])
    with pytest.raises(UserError, match="tail"):
        JointMap(spec, [*motors, MotorChannel("tail")])
