"""Height maps equal brute force in float64, mirror to the last bit, and are right in edge cases."""

import math
import re

import numpy as np
import pytest
import torch

from swap.env import Spaces
from swap.errors import UserError
from swap.sensors import HeightCfg, HeightMaps, Patch
from swap.symmetry import Grid, quadruped

FEET = [1, 0, 3, 2]


def measure(scene, cfg=None):
    maps = HeightMaps(
        cfg or HeightCfg(), 4, scene.boxes.n, scene.boxes.slots, scene.base_pos.device
    )
    return maps(scene.boxes, scene.base_pos, scene.base_quat, scene.foot_pos)


def clip(patch):
    return -patch.clip_m, patch.clip_m


def matrix(quat):
    w, x, y, z = quat / np.linalg.norm(quat)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def brute_top(scene, world, x, y, grow=0.0):
    """The highest point above (x, y) in any box, with each box as six half spaces."""
    top = -np.inf
    for k in range(int(scene.boxes.count[world])):
        pos, quat, half = (
            getattr(scene.boxes, name)[world, k].cpu().double().numpy()
            for name in ("pos", "quat", "half")
        )
        lo, hi = -np.inf, np.inf
        for axis, h in zip(matrix(quat).T, half + grow, strict=True):
            for side in (axis, -axis):
                # side . (p - pos) <= h on the line p = (x, y, z)
                rest = h - side[:2] @ (np.array([x, y]) - pos[:2]) + side[2] * pos[2]
                if abs(side[2]) < 1e-12:
                    hi = hi if rest >= 0 else -np.inf
                elif side[2] > 0:
                    hi = min(hi, rest / side[2])
                else:
                    lo = max(lo, rest / side[2])
        if lo <= hi:
            top = max(top, hi)
    return top


def test_maps_are_what_brute_force_finds(scenes):
    n = 3
    scene = scenes.random(n, seed=3)
    scene.boxes.half[:, 0, 0] = 0.6  # a slab that ends under the robot: pits in every map
    maps, cfg = measure(scene), HeightCfg()
    wrong = total = exact = 0
    for world in range(n):
        w, _, _, z = scene.base_quat[world].cpu().double().numpy()
        yaw = 2 * math.atan2(z, w)
        turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        base = scene.base_pos[world].cpu().double().numpy()
        feet = scene.foot_pos[world].cpu().double().numpy()
        jobs = [(maps.terrain[world], cfg.terrain, base), (maps.body[world], cfg.body, base)]
        jobs += [(maps.foot[world, k], cfg.foot, feet[k]) for k in range(4)]
        for values, patch, origin in jobs:
            for value, point in zip(values.cpu().tolist(), patch.points, strict=True):
                x, y = origin[:2] + turn @ np.array(point)
                # The maps take boxes 0.01 mm larger; on a steep side that is a bit of height.
                low, high = (
                    np.clip(brute_top(scene, world, x, y, g) - origin[2], *clip(patch))
                    for g in (0.0, 2e-5)
                )
                total += 1
                wrong += not low - 5e-5 <= value <= high + 5e-5
                exact += abs(value - low) < 2e-5
    assert total == n * (187 + 286 + 100)
    assert wrong == 0
    assert exact > 0.9 * total
    assert (maps.terrain == -2.0).any()
    assert (maps.foot == -1.0).any()


def test_a_mirrored_scene_gives_the_mirrored_maps_to_the_last_bit(scenes):
    for scene in (
        scenes.random(16, seed=4),
        # a level robot whose points lie in the very faces of the boxes
        scenes.of(((0, 0.5, -0.5), (5, 0.5, 0.5)), ((0.5, -0.25, 0.1), (0.5, 0.25, 0.1))),
    ):
        maps, other = measure(scene), measure(scene.mirror())
        cfg = maps.cfg
        assert not torch.equal(other.terrain, maps.terrain)
        assert torch.equal(cfg.terrain.grid.rep(other.terrain), maps.terrain)
        assert torch.equal(cfg.body.grid.rep(other.body), maps.body)
        assert torch.equal(cfg.foot.grid.rep(other.foot)[:, FEET], maps.foot)
        fields = Spaces(quadruped()).fields
        flat = other.foot.flatten(1)
        assert torch.equal(fields["foot_heights"].rep(flat), maps.foot.flatten(1))


def test_cores_that_share_the_worlds_measure_the_same(scenes):
    scene, before = scenes.random(70, seed=5), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = measure(scene)
        torch.set_num_threads(2)
        shared = measure(scene)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(shared.out, alone.out)


def test_rows_run_ahead_and_columns_to_the_right(scenes):
    ground = ((0, 0, -0.5), (9, 9, 0.5))
    ahead_left = ((0.7, 0.4, 0.1), (0.15, 0.15, 0.1))
    maps = measure(scenes.of(ground, ahead_left))
    terrain = maps.terrain.view(17, 11)
    assert terrain[0, 0].item() == pytest.approx(-0.6, abs=2e-5)
    step = torch.nonzero(terrain > -0.5)
    assert step[:, 0].min() == 14  # x = -0.8 + 14 * 0.1
    assert step[:, 0].max() == 16
    assert step[:, 1].tolist() == [0, 1, 2] * 3
    assert terrain[15, 1].item() == pytest.approx(-0.4, abs=2e-5)
    body = maps.body.view(26, 11)
    assert torch.nonzero(body > -0.5)[:, 0].unique().tolist() == [11, 12, 13]


def test_grids_turn_with_the_heading_and_stay_level(scenes):
    scene = scenes.of(((0, 0, -0.5), (9, 9, 0.5)), ((0, 0.7, 0.1), (9, 0.15, 0.1)))
    half = math.radians(90) / 2
    scene.base_quat[0] = torch.tensor([math.cos(half), 0, 0, math.sin(half)])
    facing = measure(scene).terrain.view(17, 11).clone()
    assert (facing[14:] > -0.5).all()
    assert (facing[:14] < -0.5).all()
    # pitched up steeply, past the point where a yaw angle is no longer defined
    pitch = math.radians(80) / 2
    c, s = math.cos(pitch), math.sin(pitch)
    scene.base_quat[0] = torch.tensor([1, 0, 0, 1]) * c / 2**0.5
    scene.base_quat[0, 1], scene.base_quat[0, 2] = s / 2**0.5, -s / 2**0.5
    assert torch.allclose(measure(scene).terrain.view(17, 11), facing, atol=1e-5)


def test_an_overhang_hides_what_is_below(scenes):
    maps = measure(scenes.of(((0, 0, -0.5), (9, 9, 0.5)), ((0, 0, 1.0), (9, 9, 0.1))))
    assert torch.allclose(maps.terrain, torch.full_like(maps.terrain, 0.5), atol=2e-5)


def test_no_point_falls_through_a_seam(scenes):
    """In each world two boxes touch, up to rounding, under a row of points."""
    n = 512
    scene = scenes.random(n, used=2, seed=6)
    draw = torch.Generator().manual_seed(0)
    row = torch.randint(0, 17, (n,), generator=draw).to(scenes.device)
    half = (2.0 + torch.rand(n, generator=draw)).to(scenes.device)
    yaw = (6.0 * torch.rand(n, generator=draw)).to(scenes.device)
    scene.base_quat[:] = torch.stack([(yaw / 2).cos(), 0 * yaw, 0 * yaw, (yaw / 2).sin()], -1)
    ahead = torch.stack([yaw.cos(), yaw.sin()], -1)
    seam = scene.base_pos[:, :2] + ahead * (row * 0.1 - 0.8)[:, None]
    boxes = scene.boxes
    boxes.quat[:] = scene.base_quat[:, None]
    boxes.half[:] = torch.stack([half, 0 * half + 2.0, 0 * half + 0.5], -1)[:, None]
    boxes.pos[:, :, 2] = -0.5
    boxes.pos[:, 0, :2] = seam - ahead * half[:, None]
    boxes.pos[:, 1, :2] = seam + ahead * half[:, None]
    maps = measure(scene)
    assert (maps.terrain + scene.base_pos[:, 2:]).abs().max() < 2e-5
    heights = maps.foot + scene.foot_pos[:, :, 2:]
    assert heights.abs().max() < 2e-5


def test_parked_boxes_are_never_read(scenes):
    scene = scenes.random(4)
    before = measure(scene).out.clone()
    for name in ("pos", "quat", "half"):
        getattr(scene.boxes, name)[:, 12:] = math.nan
    assert torch.equal(measure(scene).out, before)
    scene.boxes.count[:] = 0
    maps = measure(scene)
    assert (maps.terrain == -2.0).all()
    assert (maps.body == -2.0).all()
    assert torch.allclose(maps.foot, torch.full_like(maps.foot, -1.0))


def test_a_world_gone_wrong_reads_a_pit_and_harms_no_other(scenes):
    scene = scenes.random(3)
    before = measure(scene).out.clone()
    scene.base_pos[1] = math.nan
    scene.base_quat[1] = math.nan
    scene.foot_pos[1] = math.nan
    maps = measure(scene)
    assert (maps.terrain[1] == -2.0).all()
    assert (maps.foot[1] == -1.0).all()
    assert torch.equal(maps.out[[0, 2]], before[[0, 2]])


def test_named_maps_share_one_storage(scenes):
    scene = scenes.random(2)
    maps = HeightMaps(HeightCfg(), 4, 2, 16, scenes.device)
    terrain, pointer = maps.terrain, maps.out.data_ptr()
    args = (scene.boxes, scene.base_pos, scene.base_quat, scene.foot_pos)
    assert maps(*args) is maps
    assert terrain.any()
    assert maps.out.data_ptr() == pointer
    assert maps.terrain.shape == (2, 187)
    assert maps.body.shape == (2, 286)
    assert maps.foot.shape == (2, 4, 25)
    together = torch.cat([maps.body, maps.foot.flatten(1)], 1)
    assert torch.equal(maps.world_model, together)
    assert maps.world_model.shape[1] == Spaces(quadruped()).predicted_heights.dim


def test_bad_input_names_the_fix(scenes):
    scene = scenes.random(2)
    maps = HeightMaps(HeightCfg(), 4, 2, 16, scenes.device)
    with pytest.raises(UserError, match=re.escape("foot_pos has shape (2, 3, 3); give (2, 4, 3)")):
        maps(scene.boxes, scene.base_pos, scene.base_quat, scene.foot_pos[:, :3])
    with pytest.raises(UserError, match="must both be above 0"):
        Patch(Grid(3, 3), back_m=0.0, spacing_m=0.0, clip_m=1.0)
