"""Tests how large and how frequent the camera's noise is, and that it mirrors exactly."""

import re
from dataclasses import replace

import pytest
import torch

from camera_setup import MOUNT
from swap.errors import UserError
from swap.sensors import DepthNoise, DepthNoiseCfg, DepthRenderer, NoiseSeeds, OpticsCfg

CAMERA = OpticsCfg()
QUIET = DepthNoiseCfg(sigma_m=0.0, sigma_per_m=0.0, edge_holes=0.0, blob_holes=0.0, dropped=0.0)


SMALL = OpticsCfg(rows=8, cols=8)


def wall(n, z_m, device, camera=CAMERA):
    value = (z_m - camera.near_m) / (camera.far_m - camera.near_m)
    return torch.full((n, camera.rows, camera.cols), value, device=device)


class Spoiler:
    """A noise stage with all it needs."""

    def __init__(self, cfg, n, device, seed=0, camera=CAMERA):
        self.draws = NoiseSeeds(n, seed, torch.device(device))
        self.noise = DepthNoise(cfg, camera, self.draws)
        self.fresh = torch.zeros(n, dtype=torch.bool, device=device)
        self.mask = torch.ones(n, dtype=torch.bool, device=device)
        self.noisy = torch.ones(n, camera.rows, camera.cols, device=device)

    def __call__(self, clean):
        self.noise(clean, self.noisy, self.fresh, self.mask)
        return self.noisy.clone()


@pytest.mark.parametrize("z_m", [0.5, 1.0, 2.0, 4.0])
def test_the_error_grows_with_the_square_of_the_range(scenes, z_m):
    cfg = replace(QUIET, sigma_m=0.01, sigma_per_m=0.004)
    noisy = CAMERA.metres(Spoiler(cfg, 16, scenes.device)(wall(16, z_m, scenes.device)))
    error = noisy - z_m
    sigma = 0.01 + 0.004 * z_m**2
    count = error.numel() ** 0.5
    assert abs(error.mean().item()) < 5 * sigma / count
    assert error.std().item() == pytest.approx(sigma, rel=5 / count)
    # neighbouring pixels are not correlated, nor are worlds
    assert abs((error[:, :, 1:] * error[:, :, :-1]).mean().item()) < 5 * sigma**2 / count
    assert abs((error[1:] * error[:-1]).mean().item()) < 5 * sigma**2 / count


def test_a_quiet_camera_changes_nothing(scenes):
    scene = scenes.random(4)
    clean = DepthRenderer(CAMERA, MOUNT, 4, 16, scenes.device)(
        scene.boxes, scene.base_pos, scene.base_quat
    )
    assert torch.allclose(Spoiler(QUIET, 4, scenes.device)(clean), clean, atol=1e-6)


def test_what_is_unseen_stays_unseen(scenes):
    clean = torch.ones(4, CAMERA.rows, CAMERA.cols, device=scenes.device)
    assert (Spoiler(DepthNoiseCfg(), 4, scenes.device)(clean) == 1).all()


def test_edges_lose_three_pixels_in_ten_and_slopes_none(scenes):
    cfg = replace(QUIET, edge_holes=0.3)
    # flat ground up to where its own end is seen: a slope of many metres a pixel
    ground = scenes.of(((0, 0, -1), (50, 50, 1)))
    clean = DepthRenderer(CAMERA, MOUNT, 1, 8, scenes.device)(
        ground.boxes, ground.base_pos, ground.base_quat
    )
    seen = clean[0] < 1
    seen[:-1] &= seen[1:].clone()
    horizon = seen & ~seen.roll(1, 0)
    noisy = Spoiler(cfg, 1, scenes.device)(clean)
    assert (noisy[0] < 1)[seen & ~horizon].all()
    # a post in front of a wall has two upright edges, each two pixels wide
    clean = wall(64, 3.0, scenes.device)
    clean[:, :, 20:40] = wall(64, 1.0, scenes.device)[:, :, 20:40]
    holes = Spoiler(cfg, 64, scenes.device)(clean) == 1
    edge = torch.zeros(64, dtype=torch.bool)
    edge[[19, 20, 39, 40]] = True
    rate = holes[:, :, edge].float().mean().item()
    assert rate == pytest.approx(0.3, abs=5 * (0.21 / (64 * 64 * 4)) ** 0.5)
    assert not holes[:, :, ~edge].any()


@pytest.mark.parametrize("way", [(1, 0), (0, 1), (1, 1)])
def test_near_ground_loses_nothing_at_the_border_of_the_image(scenes, way):
    """Inverse depth is linear on a plane, also where a pixel has no neighbour on one side."""
    v, u = torch.meshgrid(torch.arange(64.0), torch.arange(64.0), indexing="ij")
    inverse = 0.25 + 5.5 * (way[0] * v + way[1] * u) / (63 * sum(way))  # from 4 m to 17 cm
    value = (1 / inverse - CAMERA.near_m) / (CAMERA.far_m - CAMERA.near_m)
    clean = value[None].to(scenes.device)
    assert (Spoiler(replace(QUIET, edge_holes=1.0), 1, scenes.device)(clean) < 1).all()


def test_blobs_take_up_to_five_percent_of_a_frame(scenes):
    n = 512
    cfg = replace(QUIET, blob_holes=0.05)
    holes = Spoiler(cfg, n, scenes.device)(wall(n, 2.0, scenes.device)) == 1
    share = holes.float().mean((1, 2)).cpu()
    assert share.max() < 0.055
    assert share.min() < 0.002
    assert 0.018 < share.mean() < 0.025  # 2.5 % less what falls outside or overlaps
    # holes come in lumps: the neighbour of a hole is mostly a hole
    beside = holes[:, :, 1:][holes[:, :, :-1]].float().mean()
    assert beside > 0.7


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_single_pixels_have_no_return(scenes, share):
    n = 16
    cfg = replace(QUIET, pixel_holes=(share, share))
    spoil = Spoiler(cfg, n, scenes.device)
    first, later = (spoil(wall(n, 2.0, scenes.device)) == 1 for _ in range(2))
    sigma = (share * (1 - share) / first.numel()) ** 0.5
    assert first.float().mean().item() == pytest.approx(share, abs=5 * sigma)
    # each by itself: neither the neighbour nor the next frame tells anything
    expected = share * (1 - share) * 2
    for a, b in ((first[:, :, 1:], first[:, :, :-1]), (first, later)):
        assert (a != b).float().mean().item() == pytest.approx(expected, abs=0.02)


def test_one_frame_in_a_hundred_is_lost_and_the_previous_one_repeated(scenes):
    n, frames = 2000, 20
    cfg = replace(DepthNoiseCfg(), dropped=0.01, blob_holes=0.0)
    spoil = Spoiler(cfg, n, scenes.device, camera=SMALL)
    small = wall(n, 2.0, scenes.device, SMALL)
    lost, before = 0, spoil(small)
    for _ in range(frames):
        now = spoil(small)
        same = (now == before).all(-1).all(-1)
        assert torch.equal(same, spoil.noise.lost)
        lost += int(same.sum())
        before = now
    total = n * frames
    assert lost / total == pytest.approx(0.01, abs=5 * (0.01 / total) ** 0.5)


def test_a_fresh_world_never_loses_its_frame(scenes):
    spoil = Spoiler(replace(QUIET, dropped=1.0), 8, scenes.device)
    spoil.fresh[::2] = True
    clean = wall(8, 2.0, scenes.device)
    noisy = spoil(clean)
    assert torch.allclose(noisy[::2], clean[::2], atol=1e-6)
    assert (noisy[1::2] == 1).all()
    assert not spoil.fresh.any()


def test_only_masked_worlds_draw(scenes):
    spoil = Spoiler(DepthNoiseCfg(), 4, scenes.device)
    spoil.mask[1] = False
    noisy = spoil(wall(4, 2.0, scenes.device))
    assert (noisy[1] == 1).all()
    assert spoil.draws.count.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("dark", [(0.0, 0.0), (0.5, 0.5)])
def test_mirrored_draws_spoil_the_flipped_image_to_the_flipped_one(scenes, dark):
    n = 32
    scene = scenes.random(n, seed=5)
    depth = DepthRenderer(CAMERA, MOUNT, n, 16, scenes.device)
    clean = depth(scene.boxes, scene.base_pos, scene.base_quat).clone()
    left, right = (
        Spoiler(replace(DepthNoiseCfg(), dropped=0.2, pixel_holes=dark), n, scenes.device)
        for _ in range(2)
    )
    right.draws.mirrored[:] = True
    for _ in range(4):
        a, b = left(clean), right(clean.flip(-1))
        assert not torch.equal(a, clean)
        assert torch.equal(b.flip(-1), a)


def test_draws_follow_seed_key_and_count(scenes):
    clean = wall(4, 2.0, scenes.device)
    first = Spoiler(DepthNoiseCfg(), 4, scenes.device, seed=3)
    a = first(clean)
    assert torch.equal(Spoiler(DepthNoiseCfg(), 4, scenes.device, seed=3)(clean), a)
    assert not torch.equal(Spoiler(DepthNoiseCfg(), 4, scenes.device, seed=4)(clean), a)
    assert not torch.equal(first(clean), a)
    first.draws.count[:] = 0
    first.draws.key[:] = torch.tensor([2, 2, 0, 1])
    b = first(clean)
    assert torch.equal(b, a[[2, 2, 0, 1]])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dropped": 1.5}, "dropped=1.5; it is a fraction, use 0 to 1"),
        ({"edge_holes": -0.1}, "edge_holes=-0.1; it is a fraction"),
        ({"pixel_holes": (0.5, 1.1)}, "pixel_holes=(0.5, 1.1); it is a fraction"),
        ({"pixel_holes": (0.5, 0.2)}, "pixel_holes=(0.5, 0.2) runs backwards"),
        ({"sigma_m": -0.01}, "sigma_m=-0.01; use 0 or more"),
    ],
)
def test_bad_noise_names_the_fix(change, says):
    with pytest.raises(UserError, match=re.escape(says)):
        DepthNoiseCfg(**change)
