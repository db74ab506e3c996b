"""Times a controller's parts on one core: policy, world-model tick, its own work around them."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swap.deploy.bundle import Bundle
from swap.deploy.controller import Controller, ControllerCfg, Mode
from swap.deploy.messages import DepthImage, Operator, RobotState
from swap.deploy.runtime import Runtime

LIMITS_MS = {"policy": 1.0, "world-model tick": 10.0, "controller's own work": 1.0}
"""What their 99th percentiles must stay below."""
WARM_UP = 50


def bench(
    bundle: Bundle,
    steps: int,
    core: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[dict[str, Any]]:
    """A row a part. `core`: all of it on this one; the process is let go again afterwards. `clock`:
    `time.thread_time` leaves out what other programs on that core take."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if allowed is not None:
        os.sched_setaffinity(0, {min(allowed) if core is None else core})
    try:
        times = _control(bundle, steps, clock)
    finally:
        if allowed is not None:
            os.sched_setaffinity(0, allowed)
    for part, ms in times.items():
        middle, high = (float(np.percentile(ms, q)) for q in (50, 99))
        limit = LIMITS_MS[part]
        yield {
            "part": part,
            "runs": len(ms),
            "p50 ms": middle,
            "p99 ms": high,
            "most ms": max(ms),
            "limit ms": limit,
            "fine": high < limit,
        }


def _control(bundle: Bundle, steps: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Control steps of a robot that stands before a wall; times in milliseconds by part."""
    spec, rng = bundle.spec, np.random.default_rng(0)
    runtime = Runtime(bundle)
    times: dict[str, list[float]] = {part: [] for part in LIMITS_MS}
    inside = 0.0

    def timed(part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            nonlocal inside
            began = clock()
            answer = work(*given)
            took = clock() - began
            inside += took
            times[part].append(took * 1e3)
            return answer

        return run

    runtime.act = timed("policy", runtime.act)  # type: ignore[method-assign]
    runtime.tick = timed("world-model tick", runtime.tick)  # type: ignore[method-assign]
    controller = Controller(bundle, cfg=ControllerCfg(0.0, 0.0), runtime=runtime)
    pose = np.array([joint.default_rad for joint in spec.joints], np.float32)
    size = spec.camera.rows, spec.camera.cols
    now, period = 0.0, spec.control_period_s
    for step in range(steps + WARM_UP):
        noise = rng.normal(size=(2, len(pose))).astype(np.float32) * 0.01
        quat, gyro = np.array([1, 0, 0, 0], np.float32), rng.normal(size=3).astype(np.float32) / 10
        state = RobotState(now, quat, gyro, pose + noise[0], noise[1], noise[1])
        image = DepthImage(now - 0.1, rng.uniform(0, 5, size).astype(np.float32))
        request = {Mode.PASSIVE: "stand", Mode.STAND_UP: "run"}.get(controller.mode, "")
        inside, began = 0.0, clock()
        controller.on_state(state)
        controller.on_depth(image)
        controller.on_operator(Operator(request, 1.0, heading_rad=0.0), now)  # type: ignore[arg-type]
        controller.step(now)
        own = clock() - began - inside
        times["controller's own work"].append(own * 1e3)
        now += period
        if step == WARM_UP - 1:
            for ms in times.values():
                ms.clear()
    return times
