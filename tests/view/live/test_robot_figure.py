"""The figure's bodies are where MuJoCo has them."""

import mujoco
import numpy as np
import pytest
import viser.transforms as tf

from swap.robots import load
from swap.robots.mjcf import build_spec
from swap.sensors import OpticsCfg
from swap.view.live.robot_figure import RobotFigure
from swap.view.live.scenery import add_frustum
from swap.view.live.server import PageServer
from swap.view.live.stage import tilted_quat


@pytest.fixture
def server():
    server = PageServer(port=0)
    yield server
    server.stop()


def pose_of(server, path: str) -> tf.SE3:
    """In the world: all nodes from the root down."""
    pose, name = tf.SE3.identity(), ""
    for part in path.strip("/").split("/"):
        name += f"/{part}"
        node = server.scene.get_handle_by_name(name)
        pose = pose @ tf.SE3.from_rotation_and_translation(tf.SO3(node.wxyz), node.position)
    return pose


@pytest.mark.parametrize("name", ["apollo", "go2"])
def test_every_body_is_where_mujoco_has_it(server, name):
    robot = load(name)
    figure = RobotFigure(server, "/robot", robot)
    model = build_spec(robot, slots=0).compile()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    quat = rng.normal(size=4)
    qpos = [*rng.normal(size=3), *(quat / np.linalg.norm(quat)), *rng.uniform(-1, 1, 12)]
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    figure.place(*np.split(np.array(qpos), [3, 7]))
    for leg in robot.legs:
        path = f"/robot/trunk/{leg.name}_abad/{leg.name}_hip/{leg.name}_knee"
        knee = pose_of(server, path)
        body = data.body(f"{leg.name}_knee")
        assert knee.translation() == pytest.approx(body.xpos, abs=1e-6)
        assert knee.rotation().as_matrix().ravel() == pytest.approx(body.xmat, abs=1e-6)


def test_the_frustum_looks_where_mujocos_camera_looks(server):
    robot = load("apollo")
    figure = RobotFigure(server, "/robot", robot)
    figure.place(np.zeros(3), np.array([1.0, 0, 0, 0]), np.array(robot.default_pose))
    add_frustum(server, "/robot/trunk", robot, OpticsCfg())
    model = build_spec(robot, slots=0).compile()
    data = mujoco.MjData(model)
    data.qpos[:3] = 0
    mujoco.mj_forward(model, data)
    axes = data.cam("depth").xmat.reshape(3, 3)  # right, up, backwards
    seen = pose_of(server, "/robot/trunk/camera")
    right, down, ahead = seen.rotation().as_matrix().T
    assert right == pytest.approx(axes[:, 0], abs=1e-6)
    assert down == pytest.approx(-axes[:, 1], abs=1e-6)
    assert ahead == pytest.approx(-axes[:, 2], abs=1e-6)
    assert seen.translation() == pytest.approx(data.cam("depth").xpos, abs=1e-6)


def test_a_tilt_is_rebuilt_from_heading_and_gravity():
    turn = tf.SO3.from_rpy_radians(0.3, -0.4, 1.1)
    gravity_b = turn.inverse().apply(np.array([0.0, 0.0, -1.0]))
    rebuilt = tf.SO3(tilted_quat(1.1, 1.3 * gravity_b))
    assert rebuilt.as_matrix() == pytest.approx(turn.as_matrix(), abs=1e-9)
