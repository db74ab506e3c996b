"""The chase camera keeps the robot in the picture, whatever it does and whatever is in the way."""

from dataclasses import replace

import numpy as np
import pytest

from swap.courses.rays import cast
from swap.errors import UserError
from swap.view import ChaseCamera, ChaseCameraCfg, PictureCfg, View, scene_of

DT = 0.02


def on_screen(view: View, point: np.ndarray) -> np.ndarray:
    """Right and up, each in -1..1 inside the picture."""
    ahead, left, up = (point - view.eye) @ view.axes()
    look, half = PictureCfg(), np.tan(np.radians(view.fov_deg / 2))
    return np.array([-left / ahead / half, up / ahead / half * look.width / look.height])


@pytest.fixture
def scene(world):
    return scene_of(world.robot, world.state, world.boxes, 0)


def test_a_fast_robot_stays_in_the_picture_and_the_picture_is_calm(scene):
    chase, eyes = ChaseCamera(), []
    for k in range(150):
        x = 3.0 * k * DT
        hop = 0.3 * abs(np.sin(k * DT * 8))
        moved = replace(scene, base_pos=scene.base_pos + np.array([x, 0.0, hop]))
        view = chase(moved, DT)
        eyes.append(view.eye)
        assert np.abs(on_screen(view, moved.base_pos)).max() < 0.8
    assert np.ptp(np.diff([eye[2] for eye in eyes[20:]])) < 0.02


def test_a_reset_cuts(scene):
    chase = ChaseCamera()
    near = chase(scene, DT)
    far = chase(replace(scene, base_pos=scene.base_pos + np.array([9.0, 0.0, 0.0])), DT)
    np.testing.assert_allclose(far.eye - near.eye, [9.0, 0.0, 0.0], atol=0.8)


def test_a_wall_between_makes_the_camera_rise(scene):
    free = ChaseCamera()(scene, DT)
    wall = {"pos": [(0.0, -1.5, 0.5)], "quat": [(1.0, 0.0, 0.0, 0.0)], "half": [(5.0, 0.1, 1.0)]}
    walled = replace(scene, **{k: np.array(v) for k, v in wall.items()})
    view = ChaseCamera()(walled, DT)
    assert view.eye[2] > free.eye[2] + 0.5
    ray = scene.base_pos - view.eye
    hit = cast(walled.pos, walled.quat, walled.half, view.eye[None], ray[None])
    assert hit.distance[0] > 1.0


def test_a_high_obstacle_is_in_the_picture_too(scene):
    box = {"pos": [(3.0, 0.0, 0.95)], "quat": [(1.0, 0.0, 0.0, 0.0)], "half": [(2.0, 3.0, 0.95)]}
    walled = replace(scene, **{k: np.array(v) for k, v in box.items()})
    view = ChaseCamera()(walled, DT)
    for point in (walled.base_pos, [1.0, 0.0, 1.9], walled.start[-1]):
        assert np.abs(on_screen(view, np.array(point))).max() < 1.0


def test_mistakes_are_told_in_one_line():
    with pytest.raises(UserError, match="inside the robot"):
        ChaseCameraCfg(distance_m=0.1)
    with pytest.raises(UserError, match="too steep"):
        ChaseCameraCfg(elevation_deg=90.0)
