"""A world count in, milliseconds for one batch of depth images and of height maps out."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from swap.courses.course import SLOTS, Boxes
from swap.errors import UserError
from swap.robots import load
from swap.sensors.camera import DepthCamera
from swap.sensors.cfg import DepthCameraCfg, HeightCfg
from swap.sensors.heights import HeightMaps


def time_sensors(
    n: int,
    slots: int = SLOTS,
    device: str = "cpu",
    used: int | None = None,
    repeats: int = 20,
) -> dict[str, Any]:
    """Median times over `repeats`, ms a batch of `n` worlds with `used` boxes each (3/4 of the
    slots unless given): clean depth alone, a whole capture with latency and noise, one step of
    tracking, and all height maps."""
    used = max(1, slots * 3 // 4) if used is None else used
    if n < 1 or repeats < 1 or not 0 <= used <= slots:
        raise UserError(
            f"n={n}, used={used}, slots={slots}, repeats={repeats}: "
            "give at least one world and repeat, and no more boxes than slots"
        )
    boxes = _course_like(n, slots, used, device)
    place = torch.device(device)
    base_pos = torch.rand(n, 3, device=place) * torch.tensor([2.0, 0.4, 0.1], device=place)
    base_pos += torch.tensor([0.0, -0.2, 0.6], device=place)
    base_quat = torch.randn(n, 4, device=place) * 0.05 + torch.tensor([1.0, 0, 0, 0], device=place)
    foot_pos = base_pos[:, None] + torch.tensor(
        [[0.35, 0.2, -0.55], [0.35, -0.2, -0.55], [-0.35, 0.2, -0.55], [-0.35, -0.2, -0.55]],
        device=place,
    )
    camera = DepthCamera(DepthCameraCfg(), load("apollo").camera, n, slots, device)
    maps = HeightMaps(HeightCfg(), foot_pos.shape[1], n, slots, device)
    camera.reset(torch.ones(n, dtype=torch.bool, device=place), base_pos, base_quat)
    jobs: dict[str, Callable[[], Any]] = {
        "depth_ms": lambda: camera.depth(boxes, base_pos, base_quat),
        "capture_ms": lambda: camera.capture(boxes),
        "track_ms": lambda: camera.track(base_pos, base_quat),
        "heights_ms": lambda: maps(boxes, base_pos, base_quat, foot_pos),
    }
    times = {name: _median_ms(job, repeats, place) for name, job in jobs.items()}
    return {"device": device, "worlds": n, "boxes": used, **times}


def _median_ms(job: Callable[[], Any], repeats: int, device: torch.device) -> float:
    """Each repeat is waited for, after two warm-ups: the first compiles."""
    times = []
    for _ in range(repeats + 2):
        _wait(device)
        start = time.perf_counter()
        job()
        _wait(device)
        times.append((time.perf_counter() - start) * 1e3)
    return median(times[2:])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _course_like(n: int, slots: int, used: int, device: str) -> Boxes:
    """A ground slab, and boxes scattered over the 8 m ahead of the robot, some of them turned."""
    draw = torch.Generator().manual_seed(0)
    low, high = torch.tensor([-1.0, -1.5, -0.2]), torch.tensor([8.0, 1.5, 0.3])
    pos = low + (high - low) * torch.rand(n, slots, 3, generator=draw)
    half = 0.1 + 0.4 * torch.rand(n, slots, 3, generator=draw)
    quat = torch.zeros(n, slots, 4)
    quat[..., 0] = 1.0
    quat[:, ::2] += 0.15 * torch.randn(n, quat[:, ::2].shape[1], 4, generator=draw)
    quat /= quat.norm(dim=-1, keepdim=True)
    pos[:, 0], half[:, 0] = torch.tensor([4.0, 0.0, -1.0]), torch.tensor([6.0, 2.0, 1.0])
    quat[:, 0] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    count = torch.full((n,), used, dtype=torch.int32)
    parts = (pos, quat, half, torch.ones(n), count)
    return Boxes(*(part.to(device) for part in parts))
