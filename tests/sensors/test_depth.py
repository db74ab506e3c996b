"""Depth equals MuJoCo's rays in float64, mirrors to the last bit, and is right in edge cases."""

import math
import re
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

from camera_setup import MOUNT, CameraSetup
from swap.errors import UserError
from swap.sensors import DepthRenderer, OpticsCfg

RADIUS = (0.05, 0.05, 0.03, 0.03)  # pairs, as legs are


def render(scene, setup=None, legs=False, **more):
    setup = setup or CameraSetup()
    n, slots = scene.boxes.n, scene.boxes.slots
    place, seen = scene.base_pos.device, RADIUS if legs else ()
    depth = DepthRenderer(setup.optics, setup.mount, n, slots, place, seen)
    more = more | ({"legs": scene.legs} if legs else {})
    return depth(scene.boxes, scene.base_pos, scene.base_quat, **more)


def mujoco_depth(scene, setup, world, legs=False, offset_pos=None, offset_rot=None):
    """The same image from mj_multiRay, in metres."""
    cfg, mount = setup.optics, setup.mount
    spec = mujoco.MjSpec()
    get = lambda t: t[world].cpu().double().numpy()  # noqa: E731
    box = {k: get(getattr(scene.boxes, k)) for k in ("pos", "quat", "half")}
    for k in range(int(scene.boxes.count[world])):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=box["pos"][k],
            quat=box["quat"][k],
            size=box["half"][k],
        )
    for k, radius in enumerate(RADIUS if legs else ()):
        ends = np.concatenate([get(scene.legs[0])[k], get(scene.legs[1])[k]])
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=ends, size=[radius, 0, 0]
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)

    base, camera, turn = np.zeros(9), np.zeros(9), np.array([1.0, 0, 0, 0])
    quat = get(scene.base_quat)
    mujoco.mju_quat2Mat(base, quat / np.linalg.norm(quat))
    pitch = np.array([math.cos(mount.pitch / 2), 0, math.sin(mount.pitch / 2), 0])
    place = np.array(mount.pos)
    if offset_pos is not None:
        place = place + get(offset_pos)
        angle = np.linalg.norm(get(offset_rot))
        mujoco.mju_axisAngle2Quat(turn, get(offset_rot) / angle, angle)
    mujoco.mju_mulQuat(turn, turn.copy(), pitch)
    mujoco.mju_quat2Mat(camera, turn)
    base, camera = base.reshape(3, 3), camera.reshape(3, 3)
    lens = get(scene.base_pos) + base @ place
    v, u = np.mgrid[: cfg.rows, : cfg.cols]
    focal = cfg.cols / 2 / math.tan(math.radians(cfg.fov_deg) / 2)
    left = (cfg.cols / 2 - (u + 0.5)) / focal
    up = (cfg.rows / 2 - (v + 0.5)) / focal
    rays = np.stack([np.ones_like(left), left, up], -1).reshape(-1, 3)
    length = np.linalg.norm(rays, axis=-1)
    out = (rays / length[:, None]) @ (base @ camera).T
    geom, dist = np.zeros(len(out), np.int32), np.zeros(len(out))
    mujoco.mj_multiRay(
        model, data, lens, out.ravel(), None, True, -1, geom, dist, None, len(out), 100.0
    )
    z = np.where(dist < 0, np.inf, dist / length)
    return np.clip(z, cfg.near_m, cfg.far_m).reshape(cfg.rows, cfg.cols)


@pytest.mark.parametrize(
    ("setup", "legs"),
    [
        (CameraSetup(), False),
        (CameraSetup(), True),
        (CameraSetup(rows=45, cols=80, fov_deg=58.0, pitch=-0.3, far_m=3.0), True),
    ],
)
def test_depth_is_what_mujoco_sees(scenes, setup, legs):
    """Nearly every pixel shows the same surface: at most 1 in 1000, all on outlines, may differ."""
    scene = scenes.random(8)
    image = setup.optics.metres(render(scene, setup, legs)).cpu().double().numpy()
    truth = np.stack([mujoco_depth(scene, setup, k, legs) for k in range(8)])
    seen = truth < setup.optics.far_m
    assert 0.2 < seen.mean() < 0.95
    error = np.abs(image - truth)
    assert np.median(error[seen]) < 1e-6
    assert (error > 1e-4).mean() < 1e-3
    if legs:
        bare = np.stack([mujoco_depth(scene, setup, k) for k in range(8)])
        shown = truth < bare
        assert shown.mean() > 0.005
        assert (error[shown] > 1e-4).mean() < 0.01


def test_offsets_move_and_turn_the_camera(scenes):
    scene = scenes.random(4, seed=1)
    draw = torch.Generator().manual_seed(0)
    pos = (torch.randn(4, 3, generator=draw) * 0.02).to(scenes.device)
    rot = (torch.randn(4, 3, generator=draw) * 0.03).to(scenes.device)
    setup = CameraSetup()
    image = (
        setup.optics.metres(render(scene, setup, offset_pos=pos, offset_rot=rot))
        .cpu()
        .double()
        .numpy()
    )
    truth = np.stack([mujoco_depth(scene, setup, k, False, pos, rot) for k in range(4)])
    error = np.abs(image - truth)[truth < setup.optics.far_m]
    # The small-angle quaternion is off by |r|^3 / 12: 1e-5 rad here.
    assert np.median(error) < 3e-5
    assert (error > 1e-3).mean() < 0.02


@pytest.mark.parametrize("cols", [64, 33])
def test_a_mirrored_scene_gives_the_flipped_image_to_the_last_bit(scenes, cols):
    scene = scenes.random(16, seed=2)
    setup = CameraSetup(cols=cols)
    rot = torch.randn(16, 3, generator=torch.Generator().manual_seed(1)).to(scenes.device) * 0.03
    pos = rot.roll(1, 0).contiguous()
    even = torch.tensor([1.0, -1.0, 1.0], device=scenes.device)
    image = render(scene, setup, True, offset_pos=pos, offset_rot=rot)
    other = render(scene.mirror(), setup, True, offset_pos=pos * even, offset_rot=-rot * even)
    assert not torch.equal(other, image)
    assert torch.equal(other.flip(-1), image)


def test_a_mirror_keeps_exact_ties(scenes):
    """A level robot on the midline, with rays exactly in the faces of boxes, and a middle column
    that looks straight ahead."""
    scene = scenes.of(((3, 0, -1), (6, 2, 1)), ((2, 0.5, 0.3), (0.5, 0.5, 0.3)), base=(0, 0, 0.54))
    setup = CameraSetup(rows=33, cols=33, pitch=0.0)
    image = render(scene, setup)
    assert torch.equal(render(scene.mirror(), setup).flip(-1), image)


def test_depth_is_along_the_axis_and_not_the_range(scenes):
    setup = CameraSetup(pos=(0.5, 0, 0), pitch=0.0)
    wall = scenes.of(((3.0, 0, 0), (0.5, 20, 20)))
    image = render(wall, setup)
    assert torch.allclose(setup.optics.metres(image), torch.full_like(image, 2.0), atol=1e-6)


def test_up_is_up_and_left_is_left(scenes):
    setup = CameraSetup(pitch=0.0)
    image = render(scenes.of(((2.0, 0.8, 1.2), (0.2, 0.2, 0.2))), setup)[0]
    rows, cols = torch.nonzero(image < 1, as_tuple=True)
    assert len(rows) > 10
    assert rows.max() < 32
    assert cols.max() < 32
    down = render(scenes.of(((2.0, 0.8, 1.2), (0.2, 0.2, 0.2))), CameraSetup(pitch=0.2))[0]
    lower = torch.nonzero(down < 1, as_tuple=True)[0]
    assert lower.float().mean() < rows.float().mean()  # looking down lifts what is seen


def test_what_is_too_near_reads_zero(scenes):
    setup = CameraSetup(pos=(0, 0, 0), pitch=0.0)
    inside = render(scenes.of(((0, 0, 0.6), (1, 1, 1))), setup)
    assert (inside == 0).all()
    close = render(scenes.of(((0.6, 0, 0.6), (0.5, 5, 5))), setup)
    assert (close == 0).all()
    # A box that lies completely nearer than near_m is not in the image.
    before = render(scenes.of(((0.1, 0, 0.6), (0.02, 5, 5)), ((3, 0, 0.6), (1, 9, 9))), setup)
    assert torch.allclose(setup.optics.metres(before), torch.full_like(before, 2.0), atol=1e-6)


def test_parked_boxes_are_never_read(scenes):
    scene = scenes.random(4)
    image = render(scene).clone()
    for name in ("pos", "quat", "half"):
        getattr(scene.boxes, name)[:, 12:] = math.nan
    assert torch.equal(render(scene), image)
    assert image.isfinite().all()
    scene.boxes.count[:] = 0
    assert (render(scene) == 1).all()


def test_each_world_uses_its_own_count(scenes):
    scene = scenes.random(6)
    scene.boxes.count[:] = torch.arange(6, dtype=torch.int32, device=scenes.device)
    image = render(scene).clone()
    assert (image[0] == 1).all()
    for name in ("pos", "quat", "half"):
        getattr(scene.boxes, name)[3, 3:] = math.nan
    assert torch.equal(render(scene), image)


def test_only_masked_worlds_are_written(scenes):
    scene = scenes.random(4)
    depth = DepthRenderer(OpticsCfg(), MOUNT, 4, 16, scenes.device)
    mask = torch.tensor([True, False, True, False], device=scenes.device)
    image = depth(scene.boxes, scene.base_pos, scene.base_quat, mask=mask)
    assert image.data_ptr() == depth.image.data_ptr()
    full = render(scene)
    assert torch.equal(image[mask], full[mask])
    assert (image[~mask] == 1).all()


def test_a_world_gone_wrong_sees_nothing_and_harms_no_other(scenes):
    scene = scenes.random(3)
    full = render(scene).clone()
    scene.base_quat[1] = math.nan
    image = render(scene)
    assert (image[1] == 1).all()
    assert torch.equal(image[[0, 2]], full[[0, 2]])


def test_poses_may_be_slices_of_a_state(scenes):
    scene = scenes.random(4)
    state = torch.cat([scene.base_pos, scene.base_quat, torch.zeros_like(scene.base_pos)], 1)
    sliced = replace(scene, base_pos=state[:, :3], base_quat=state[:, 3:7])
    assert torch.equal(render(sliced), render(scene))


def test_a_point_like_capsule_is_a_ball(scenes):
    scene = scenes.random(1, used=0)
    ball = torch.tensor([[[2.0, 0, 0.6]] * 4], device=scenes.device)
    setup = CameraSetup(pos=(0, 0, 0), pitch=0.0, rows=33, cols=33)
    level = torch.tensor([[1.0, 0, 0, 0]], device=scenes.device)
    scene = replace(
        scene, base_pos=ball[:, 0] - ball[:, 0] * torch.eye(3)[0].to(ball), legs=(ball,) * 2
    )
    scene = replace(scene, base_quat=level)
    image = setup.optics.metres(render(scene, setup, True))[0]
    assert abs(image[16, 16].item() - (2.0 - max(RADIUS))) < 1e-5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"fov_deg": 0.5}, "fov_deg=0.5 is outside 1..170"),
        ({"fov_deg": 180.0}, "give degrees"),
        ({"near_m": 5.0}, "0 < near < far"),
        ({"near_m": 0.0}, "0 < near < far"),
        ({"rows": 0}, "rows=0; use 1 or more"),
        ({"far_m": math.nan}, "give a finite number"),
    ],
)
def test_bad_cameras_name_the_fix(change, says):
    with pytest.raises(UserError, match=re.escape(says)):
        OpticsCfg(**change)


def test_bad_tensors_name_the_fix(scenes):
    scene = scenes.random(3)
    b, p, q = scene.boxes, scene.base_pos, scene.base_quat
    depth = DepthRenderer(OpticsCfg(), MOUNT, 3, 16, scenes.device)
    cases = [
        ((b, p[:2], q), {}, r"base_pos has shape \(2, 3\); give \(3, 3\)"),
        ((b, p, p), {}, r"base_quat has shape \(3, 3\); give \(3, 4\)"),
        ((b, p.double(), q), {}, "base_pos is torch.float64; sensors read torch.float32"),
        ((b, p, q.T.contiguous().T), {}, r"pass base_quat.contiguous\(\)"),
        ((replace(b, count=b.count.long()), p, q), {}, "boxes.count is torch.int64"),
        ((b, p, q), {"mask": torch.ones(3, device=scenes.device)}, "mask is torch.float32"),
        ((b, p, q), {"legs": scene.legs}, "radius_m and legs go together"),
    ]
    for args, more, says in cases:
        with pytest.raises(UserError, match=says) as caught:
            depth(*args, **more)
        assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="legs were not given"):
        DepthRenderer(OpticsCfg(), MOUNT, 3, 16, scenes.device, RADIUS)(b, p, q)
    with pytest.raises(UserError, match=r"boxes.pos has shape \(3, 16, 3\); give \(3, 8, 3\)"):
        DepthRenderer(OpticsCfg(), MOUNT, 3, 8, scenes.device)(b, p, q)
