"""Measures how long each part of a training iteration takes, the steps per second, and memory.

First it times whole iterations as they run. Then it times some more with every part between two
marks and all parts one after the other, which is slower; only the shares of the parts count there.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from swap.errors import UserError
from swap.learn import Trainer
from swap.presets import ParkourCfg
from swap.presets.table import get_preset

TIMED = 10
"""Iterations that are timed part by part."""
SECTIONS = (
    "physics",
    "course, reward, observation",
    "camera",
    "world-model tick",
    "policy",
    "style",
    "PPO",
    "world-model update",
    "AMP update",
    "other",
)


class SectionTimer:
    """Measures time spent in calls, by name: with CUDA events on a GPU, with the clock
    elsewhere."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[tuple[str, Any, Any]] = []

    def watch(self, owner: object, method: str, name: str) -> None:
        """Times all further calls of `owner.method` as `name`."""
        call: Callable[..., Any] = getattr(owner, method)

        def watched(*args: Any, **options: Any) -> Any:
            start = self._mark()
            result = call(*args, **options)
            self._marks.append((name, start, self._mark()))
            return result

        setattr(owner, method, watched)

    def read(self) -> dict[str, float]:
        """Total milliseconds by name; waits for the device."""
        if self._on_gpu:
            torch.cuda.synchronize()
        out: dict[str, float] = {}
        for name, a, b in self._marks:
            spent = a.elapsed_time(b) if self._on_gpu else 1000 * (b - a)
            out[name] = out.get(name, 0.0) + spent
        self._marks = []
        return out

    def _mark(self) -> Any:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event


def bench(
    preset: str, *, worlds: int | None, iterations: int, warm_up: int, device: str
) -> dict[str, Any]:
    """Returns milliseconds per iteration by part, steps per second, and memory in GiB."""
    cfg = get_preset(preset)
    if not isinstance(cfg, ParkourCfg):
        raise UserError(f"preset '{preset}' trains no robot; name another, e.g. swap or teacher")
    cfg = cfg if worlds is None else replace(cfg, worlds=worlds)
    trainer = cfg.trainer(cfg.make_env(device))
    on_gpu = trainer.device.type == "cuda"
    for _ in range(warm_up):
        trainer.iterate()
    per_iteration = _time(trainer, iterations)
    row: dict[str, Any] = {
        "preset": preset,
        "worlds": cfg.worlds,
        "steps/s": round(len(trainer.rollout) / per_iteration),
        "ms an iteration": 1000 * per_iteration,
    }
    trainer.side.enabled = False
    parts = _watched(trainer)
    whole = 1000 * _time(trainer, TIMED)
    spent = {name: ms / TIMED for name, ms in parts.read().items()}
    spent["other"] = whole - sum(spent.values())
    row |= {name: spent[name] for name in SECTIONS if name in spent}
    row["GiB"] = torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None
    return row


def _time(trainer: Trainer, iterations: int) -> float:
    """Seconds per iteration. Each ends by reading its figures, so the device has finished."""
    start = time.perf_counter()
    for _ in range(iterations):
        trainer.iterate()
    return (time.perf_counter() - start) / iterations


def _watched(trainer: Trainer) -> SectionTimer:
    parts, env, collector = SectionTimer(trainer.device), trainer.env, trainer.collector
    parts.watch(env.engine, "step", "physics")  # type: ignore[attr-defined]
    for method in ("_pre_physics", "_randomise_bodies", "_post_physics"):
        parts.watch(env, method, "course, reward, observation")
    parts.watch(env, "_add_images", "camera")
    for method in ("update_normalizers", "decide", "evaluate_rollout", "bootstrap_value"):
        parts.watch(collector, method, "policy")
    if collector.latent_tracker is not None:
        parts.watch(collector.latent_tracker, "observe", "world-model tick")
    if collector.style is not None:
        for method in ("reward", "remember"):
            parts.watch(collector.style, method, "style")
    parts.watch(trainer.ppo, "update", "PPO")
    if trainer.learner is not None:
        parts.watch(trainer.learner, "update", "world-model update")
    if trainer.amp is not None:
        parts.watch(trainer.amp, "update", "AMP update")
    return parts
