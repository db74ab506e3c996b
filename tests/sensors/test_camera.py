"""Tests the camera's latency, resets, masks, mirror, and replay as a CUDA graph."""

import gc
import math
import re
from dataclasses import replace

import pytest
import torch

from camera_setup import MOUNT
from swap.errors import UserError
from swap.sensors import DepthCamera, DepthCameraCfg, DepthNoiseCfg, DepthRenderer

RADIUS = (0.05, 0.05, 0.03, 0.03)
IDEAL = DepthNoiseCfg(sigma_m=0.0, sigma_per_m=0.0, edge_holes=0.0, blob_holes=0.0, dropped=0.0)


def cfg(latency_s, **more):
    low, high = latency_s if isinstance(latency_s, tuple) else (latency_s, latency_s)
    return DepthCameraCfg(noise=IDEAL, latency_s=(low, high), jitter_m=0.0, jitter_rad=0.0, **more)


class Run:
    """A camera on a robot that walks forward 1 cm and turns 0.01 rad per step."""

    def __init__(self, scenes, cfg, n=3, legs=False, **more):
        self.scene, self.n = scenes.random(n, seed=7), n
        self.device = scenes.device
        self.legs = legs
        self.camera = DepthCamera(
            cfg, MOUNT, n, 16, scenes.device, radius_m=RADIUS if legs else (), **more
        )
        self.ideal = DepthRenderer(cfg.optics, MOUNT, n, 16, scenes.device, RADIUS if legs else ())
        self.step = 0
        self.camera.reset(self.everywhere, *self.pose(0))

    @property
    def everywhere(self):
        return torch.ones(self.n, dtype=torch.bool, device=self.device)

    def pose(self, step):
        ahead = torch.tensor([0.01 * step, 0.0, 0.0], device=self.device)
        turn = torch.tensor([0.0, 0.0, 0.0, 0.005 * step], device=self.device)
        legs = tuple(end + ahead for end in self.scene.legs)
        more = (legs,) if self.legs else ()
        return self.scene.base_pos + ahead, self.scene.base_quat + turn, *more

    def walk(self, steps):
        for _ in range(steps):
            self.step += 1
            self.camera.track(*self.pose(self.step))

    def truth(self, step):
        pos, quat, *legs = self.pose(step)
        return self.ideal(self.scene.boxes, pos, quat, legs=legs[0] if legs else None).clone()

    def capture(self, **more):
        return tuple(image.clone() for image in self.camera.capture(self.scene.boxes, **more))


@pytest.mark.parametrize("legs", [False, True])
def test_one_frame_of_latency_shows_the_pose_of_one_frame_ago(scenes, legs):
    run = Run(scenes, cfg(0.1), legs=legs)
    run.capture()
    for _ in range(3):
        run.walk(5)
        clean, noisy = run.capture()
        assert torch.equal(clean, run.truth(run.step - 5))
        assert not torch.equal(clean, run.truth(run.step))
        assert torch.allclose(noisy, clean, atol=1e-6)


@pytest.mark.parametrize(("latency_s", "ago"), [(0.0, 0.0), (0.06, 3.0), (0.09, 4.5), (0.14, 7.0)])
def test_latency_need_not_be_a_whole_number_of_frames(scenes, latency_s, ago):
    run = Run(scenes, cfg(latency_s))
    run.capture()
    run.walk(20)
    clean, _ = run.capture()
    error = (clean - run.truth(run.step - ago)).abs()
    assert error.median() < 1e-5
    assert (error > 1e-3).float().mean() < 0.01


def test_each_world_draws_its_own_latency(scenes):
    camera = Run(scenes, DepthCameraCfg(), n=512).camera
    age_s = camera.age_steps * 0.02
    assert age_s.min() >= 0.06
    assert age_s.max() <= 0.14
    assert age_s.mean().item() == pytest.approx(0.1, abs=5 * 0.023 / 512**0.5)
    assert camera.offset_pos.abs().max() <= 0.01
    assert camera.offset_rot.abs().max() <= math.radians(2.0)
    assert camera.offset_rot.std().item() == pytest.approx(math.radians(2) / 3**0.5, rel=0.1)
    assert abs(camera.offset_pos.mean().item()) < 5 * 0.006 / (512 * 3) ** 0.5


def test_a_reset_world_sees_its_new_pose_at_once_and_nothing_older_after(scenes):
    run = Run(scenes, cfg(0.14))
    run.capture()
    run.walk(13)
    mask = torch.tensor([False, True, False], device=run.device)
    pos, quat = run.pose(40)  # world 1 is put somewhere else
    run.camera.reset(mask, pos, quat)
    clean, noisy = run.capture()
    assert torch.equal(clean[1], run.truth(40)[1])
    assert torch.allclose(noisy[1], clean[1], atol=1e-6)
    assert torch.equal(clean[[0, 2]], run.truth(6)[[0, 2]])
    # Two steps later its memory is shorter than the latency: the oldest pose it has.
    for step in (41, 42):
        run.camera.track(*run.pose(step))
    clean, _ = run.capture()
    assert torch.equal(clean[1], run.truth(40)[1])


def test_a_reset_between_two_images_still_shows_the_newest_pose(scenes):
    run = Run(scenes, cfg(0.1))
    run.capture()
    run.camera.reset(run.everywhere, *run.pose(20))
    for step in (21, 22, 23):
        run.camera.track(*run.pose(step))
    clean, _ = run.capture()
    assert torch.equal(clean, run.truth(23))


def test_some_worlds_may_be_captured_alone(scenes):
    run = Run(scenes, cfg(0.1))
    first = run.capture()
    run.walk(8)
    mask = torch.tensor([True, False, True], device=run.device)
    second = run.capture(mask=mask)
    for old, new in zip(first, second, strict=True):
        assert torch.equal(old[1], new[1])
        assert not torch.equal(old[0], new[0])


def test_a_quaternion_may_change_sign_between_two_steps(scenes):
    run = Run(scenes, cfg(0.03))
    run.camera.capture(run.scene.boxes)
    for step in range(6):
        pos, quat = run.pose(0)
        run.camera.track(pos, quat * (-1) ** step)
    clean, _ = run.capture()
    assert torch.allclose(clean, run.truth(0), atol=1e-5)


@pytest.mark.parametrize("dark", [(0.0, 0.0), (0.1, 0.9)])
def test_a_mirrored_run_gives_flipped_images_to_the_last_bit(scenes, dark):
    """Everything is on: latency, mounting error, legs, noise, lost frames."""
    n = 8
    left = scenes.random(n, seed=9)
    right = left.mirror()
    images = []
    for scene, mirrored in ((left, False), (right, True)):
        settings = DepthCameraCfg(noise=DepthNoiseCfg(dropped=0.3, pixel_holes=dark))
        camera = DepthCamera(settings, MOUNT, n, 16, scenes.device, RADIUS, seed=5)
        camera.draws.mirrored[:] = mirrored
        mask = torch.ones(n, dtype=torch.bool, device=scenes.device)
        camera.reset(mask, scene.base_pos, scene.base_quat, scene.legs)
        side = -1.0 if mirrored else 1.0
        shots = []
        for step in range(1, 16):
            drift = torch.tensor([0.01, 0.005 * side, 0.002], device=scenes.device) * step
            ends = tuple(end + drift for end in scene.legs)
            camera.track(scene.base_pos + drift, scene.base_quat, ends)
            if step % 5 == 0:
                shots += [image.clone() for image in camera.capture(scene.boxes)]
        images.append(torch.stack(shots))
    assert not torch.equal(images[0], images[1])
    assert torch.equal(images[0], images[1].flip(-1))


def test_each_episode_is_as_dark_as_it_drew_and_a_saved_one_stays_so(scenes):
    n = 200
    settings = replace(cfg(0.0), noise=replace(IDEAL, pixel_holes=(0.2, 0.9)))
    run, other = (Run(scenes, settings, n) for _ in range(2))
    clean, noisy = run.capture()
    seen = (clean < 1).sum((1, 2))
    lost = ((clean < 1) & (noisy == 1)).sum((1, 2)) / seen
    drawn = run.camera.noise.pixel_holes.clone()
    assert ((lost - drawn).abs() < 5 * (0.25 / seen) ** 0.5)[seen > 100].all()
    assert 0.2 <= drawn.min() < 0.25 < 0.85 < drawn.max() <= 0.9
    other.camera.reset(run.everywhere, *run.pose(0))  # another episode, another darkness
    assert not torch.equal(other.camera.noise.pixel_holes, drawn)
    other.camera.load_state_dict(run.camera.state_dict(), run.scene.boxes)
    assert torch.equal(other.camera.noise.pixel_holes, drawn)
    assert torch.equal(other.camera.frames.noisy, noisy)


def test_a_state_of_a_camera_without_darkness_has_none(scenes):
    """States that were saved before there was any can be loaded."""
    assert "pixel_holes" not in Run(scenes, DepthCameraCfg()).camera.state_dict()


def test_storage_never_moves(scenes):
    run = Run(scenes, DepthCameraCfg())
    frames = run.camera.frames
    run.walk(3)
    again = run.camera.capture(run.scene.boxes)
    assert again is frames
    assert again.clean.data_ptr() != again.noisy.data_ptr()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"latency_s": (0.1, 0.05)}, "use 0 <= low <= high <= 1 s"),
        ({"every": 0}, "every=0; use 1 or more"),
        ({"jitter_rad": 2.0}, "small offsets only"),
    ],
)
def test_bad_settings_name_the_fix(change, says):
    with pytest.raises(UserError, match=re.escape(says)):
        DepthCameraCfg(**change)


def test_legs_are_given_exactly_when_they_are_seen(scenes):
    run = Run(scenes, cfg(0.1))
    with pytest.raises(UserError, match="exactly when the camera was made with radius_m"):
        run.camera.track(*run.pose(0)[:2], run.scene.legs)
    with pytest.raises(UserError, match=re.escape("base_pos has shape (2, 3); give (3, 3)")):
        run.camera.track(run.scene.base_pos[:2], run.scene.base_quat)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="graphs are of CUDA")
def test_a_graph_replays_what_the_calls_did(scenes):
    if scenes.device != "cuda":
        pytest.skip("graphs are of CUDA")
    settings = replace(cfg((0.06, 0.14)), noise=DepthNoiseCfg())
    plain, replayed = (Run(scenes, settings, n=16, legs=True) for _ in range(2))
    pose = [plain.scene.base_pos.clone(), plain.scene.base_quat.clone()]
    legs = tuple(end.clone() for end in plain.scene.legs)

    def work(run):
        run.camera.track(*pose, legs)
        run.camera.capture(run.scene.boxes)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work(replayed)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    gc.disable()
    try:
        with torch.cuda.graph(graph, stream=stream):
            work(replayed)
    finally:
        gc.enable()
    work(plain)
    for step in range(4):
        pose[0].copy_(plain.pose(step)[0])
        graph.replay()
        work(plain)
        torch.cuda.synchronize()
        assert torch.equal(replayed.camera.frames.clean, plain.camera.frames.clean)
        assert torch.equal(replayed.camera.frames.noisy, plain.camera.frames.noisy)
