"""Pixels against MuJoCo's own rays, mirrored scenes, light and shadow."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from swap.errors import UserError
from swap.robots.mjcf import build_spec
from swap.view import ChaseCamera, PictureCfg, Renderer, View, scene_of

VIEW = View(np.array([-1.6, -2.1, 1.3]), np.array([0.1, 0.0, 0.35]))


def oracle(world) -> tuple[mujoco.MjModel, mujoco.MjData, list[str]]:
    """The physics model with the housings as well, and the names of shapes in drawing order."""
    course, robot = world.course, world.robot
    spec = build_spec(robot, course.n, course.pos, course.quat, course.half)
    names = [f"box{k}" for k in range(course.n)]
    names += [f"trunk{k}" for k in range(len(robot.trunk_shapes))]
    for leg in robot.legs:
        housing = spec.body(f"{leg.name}_abad").add_geom(name=f"{leg.name}_housing")
        housing.type = mujoco.mjtGeom.mjGEOM_CAPSULE
        housing.fromto = (0, 0, 0, 0, leg.offset, 0)
        housing.size = (leg.thigh_radius, 0, 0)
        # Drawn down to the foot; physics ends it above, see mjcf.py.
        spec.geom(f"{leg.name}_shank").fromto = (0, 0, 0, 0, 0, -leg.shank)
        names += [f"{leg.name}_{part}" for part in ("housing", "thigh", "shank", "foot")]
    model = spec.compile()
    data = mujoco.MjData(model)
    start = world.start
    data.qpos[:] = np.concatenate(
        [t[0].numpy() for t in (start.base_pos, start.base_quat, start.joint_pos)]
    )
    mujoco.mj_forward(model, data)
    return model, data, names


def test_every_pixel_shows_what_mujoco_hits(odd, device):
    look = PictureCfg(width=72, height=42)
    render = Renderer(odd.robot, look, device)
    render(scene_of(odd.robot, odd.state, odd.boxes, 0), VIEW)
    model, data, names = oracle(odd)
    axes, pixel = VIEW.axes(), 2 * np.tan(np.radians(VIEW.fov_deg / 2)) / look.width
    depth, shape = render.depth, render.shape
    geom, seen, other = np.zeros(1, np.int32), set(), 0
    for v in range(look.height):
        for u in range(look.width):
            y, z = (look.width / 2 - u - 0.5) * pixel, (look.height / 2 - v - 0.5) * pixel
            ray = axes @ [1.0, y, z]
            far = mujoco.mj_ray(model, data, VIEW.eye, ray, None, 1, -1, geom)
            if far < 0:
                assert shape[v, u] == -1
                assert depth[v, u] == np.inf
                continue
            # Where shapes run into each other either may be named; the distance must agree.
            assert depth[v, u] == pytest.approx(far, abs=2e-3), (v, u)
            name = model.geom(int(geom[0])).name
            other += name != names[shape[v, u]]
            seen.add(name)
    assert other < 0.01 * depth.size
    assert {"box0", "box1", "trunk0", "FR_thigh", "RR_shank", "RR_foot", "RL_thigh"} <= seen


def test_the_mirrored_scene_gives_the_flipped_picture(world):
    look = PictureCfg(width=160, height=90, left=(0.5, 0.5, 0.5), right=(0.5, 0.5, 0.5))
    flip = np.array([1.0, -1.0, 1.0])
    render = Renderer(world.robot, look, "cpu")
    picture = render(scene_of(world.robot, world.state, world.boxes, 0), VIEW)
    other = world.mirror()
    x, y, z = look.sun
    mirrored = Renderer(world.robot, replace(look, sun=(x, -y, z)), "cpu")
    image = mirrored(
        scene_of(other.robot, other.state, other.boxes, 0),
        View(VIEW.eye * flip, VIEW.target * flip, VIEW.fov_deg),
    )[:, ::-1]
    depth = mirrored.depth[:, ::-1]
    same = np.isclose(render.depth, depth, atol=1e-3) | ~np.isfinite(depth)
    assert same.mean() > 0.999
    assert (np.abs(picture.astype(int) - image).max(-1) > 3).mean() < 0.003
    # A wrong sun shows: the comparison above can fail.
    wrong = Renderer(world.robot, look, "cpu")(
        scene_of(other.robot, other.state, other.boxes, 0),
        View(VIEW.eye * flip, VIEW.target * flip, VIEW.fov_deg),
    )[:, ::-1]
    assert (np.abs(picture.astype(int) - wrong).max(-1) > 3).mean() > 0.05


def test_shadows_fall_away_from_the_sun(world):
    """From straight above, the ground is darker on the side of the robot that is off the sun."""
    look = PictureCfg(width=160, height=90, sun=(0.0, -1.0, 1.0))
    render = Renderer(world.robot, look, "cpu")
    scene = scene_of(world.robot, world.state, world.boxes, 0)
    scene = replace(scene, pos=scene.pos[:1], quat=scene.quat[:1], half=scene.half[:1])
    above = View(np.array([-0.01, 0.0, 6.0]), np.array([0.0, 0.0, 0.0]), fov_deg=40.0)
    picture = render(scene, above)
    ground = render.shape == 0
    light = np.where(ground, picture.astype(float).mean(-1), np.nan)
    left, right = light[:, :80], light[:, 80:]  # ahead is up: columns run from +y to -y
    dark = 0.8 * np.nanmedian(light)
    assert (left[30:60] < dark).sum() > 5 * (right[30:60] < dark).sum()
    assert (left < dark).sum() > 100


def test_left_and_right_legs_wear_their_colours(world):
    look = PictureCfg(width=160, height=90, left=(1.0, 0.1, 0.1), right=(0.1, 0.1, 1.0))
    render = Renderer(world.robot, look, "cpu")
    scene = scene_of(world.robot, world.state, world.boxes, 0)
    front = View(np.array([2.6, 0.3, 0.9]), np.array([0.0, 0.0, 0.3]), fov_deg=30.0)
    scene = replace(scene, pos=scene.pos[:1], quat=scene.quat[:1], half=scene.half[:1])
    picture = render(scene, front).astype(int)
    first = len(scene.pos) + len(world.robot.trunk_shapes)
    leg = (render.shape - first) // 4
    for k, facts in enumerate(world.robot.legs):
        shown = picture[(render.shape >= first) & (leg == k)]
        assert len(shown) > 10
        red_less_blue = (shown[:, 0] - shown[:, 2]).mean()
        assert red_less_blue * (1 if facts.name.endswith("L") else -1) > 10


def test_edges_are_smooth(world):
    """Along the silhouette there are colours between the robot's and the sky's."""
    render = Renderer(world.robot, PictureCfg(width=160, height=90), "cpu")
    level = View(np.array([0.0, -4.0, 0.62]), np.array([0.0, 0.0, 0.62]), fov_deg=20.0)
    scene = scene_of(world.robot, world.state, world.boxes, 0)
    scene = replace(scene, pos=scene.pos[:1] - [0, 0, 9], quat=scene.quat[:1], half=scene.half[:1])
    smooth = render(scene, level)
    raw = (render._image.numpy() * 255 + 0.5).astype(np.uint8)
    changed = (smooth != raw).any(-1)
    assert 0.005 < changed.mean() < 0.3


def test_mistakes_are_told_in_one_line(world):
    with pytest.raises(UserError, match="use 16 to 4096"):
        PictureCfg(width=8)
    with pytest.raises(UserError, match="below the horizon"):
        PictureCfg(sun=(0.0, 1.0, -0.1))
    with pytest.raises(UserError, match=r"use 0\.\.0"):
        scene_of(world.robot, world.state, world.boxes, 3)


def test_the_picture_has_the_size_asked_for(world):
    scene = scene_of(world.robot, world.state, world.boxes, 0)
    picture = Renderer(world.robot, PictureCfg(width=64, height=36), "cpu")(
        scene, ChaseCamera()(scene, 0.02)
    )
    assert picture.shape == (36, 64, 3)
    assert picture.dtype == np.uint8
