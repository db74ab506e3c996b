"""Measures the speed and memory of stepping worlds and computing sensors.

Whatever is compared takes turns in one run. Every figure is a median over slices of time, with the
device synchronised at both ends, after a warm-up that compiles.
"""

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import torch

from swap.courses import Course
from swap.device.warp_start import warp_runs_on
from swap.evaluate.mujoco_renderer import MujocoRenderer, try_renderer
from swap.evaluate.scenes import all_worlds, bank_of, random_targets
from swap.robots import Robot, load
from swap.sensors import DepthCamera, DepthCameraCfg, HeightCfg, HeightMaps, OpticsCfg
from swap.sim import Engine, FaultReport, Ranges, draw, make_engine
from swap.sim.gpu import GpuEngine

Job = Callable[[], Any]

WORLDS = {"cpu": (64, 128), "cuda": (1024, 6000, 16384)}
"""Default numbers of worlds for each kind of device."""
RIVAL_WORLDS = 64
"""When a GPU is timed, the engines are also compared on the CPU, with this many worlds."""
RESET_RATE = 1 / 500
"""Fraction of the worlds that is reset at each control step, as with episodes of 10 s."""
SLICE_S = 0.1


def bench(
    device: str,
    worlds: Sequence[int] = (),
    *,
    robot: Robot | None = None,
    slots: int = 32,
    seconds: float = 2.0,
) -> Iterator[dict[str, Any]]:
    """Returns a row for each engine and world count; figures that cannot be measured here are None.

    On the CPU the `gpu` engine is mujoco-warp on Warp's CPU device, and each pair of rows is one
    race; its `speed-up` is the cpu engine's steps per second over its own.
    """
    kind = device.split(":")[0]
    it, bank = robot or load("apollo"), bank_of()
    races = [(device, n) for n in worlds or WORLDS[kind]]
    if kind == "cuda":
        races.append(("cpu", RIVAL_WORLDS))
    for place, n in races:
        names = ["gpu"] if place != "cpu" else ["cpu", "gpu"] if warp_runs_on("cpu") else ["cpu"]
        for name in names:
            _Entry(name, it, bank, 2, place, slots).warm_up()
        entries = [_Entry(name, it, bank, n, place, slots) for name in names]
        yield from _race_engines(entries, seconds)
        if place == "cpu" and len(entries) < 2:
            why = "Warp cannot compile for the CPU here"
            yield {"engine": "gpu", "device": place, "worlds": n, "note": why}
        del entries
        gc.collect()


def race(jobs: dict[str, Job], *, seconds: float, device: str = "cpu") -> dict[str, float]:
    """Seconds per call of each job: the median over slices of about SLICE_S; the jobs take
    turns."""
    calls = {}
    for name, job in jobs.items():
        _timed(job, 1, device)
        calls[name] = max(1, round(SLICE_S / _timed(job, 2, device)))
    times: dict[str, list[float]] = {name: [] for name in jobs}
    end = time.perf_counter() + seconds * len(jobs)
    while not all(len(taken) >= 3 for taken in times.values()) or time.perf_counter() < end:
        for name, job in jobs.items():
            times[name].append(_timed(job, calls[name], device))
    return {name: median(taken) for name, taken in times.items()}


def _timed(job: Job, calls: int, device: str) -> float:
    """Seconds per call."""
    _wait(device)
    start = time.perf_counter()
    for _ in range(calls):
        job()
    _wait(device)
    return (time.perf_counter() - start) / calls


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)  # every stream, Warp's too


def _memory_mib(device: str) -> float:
    """Memory in use: on a GPU by everything, including the pools of torch and Warp; otherwise by
    this process."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
        _wait(device)
        free, total = torch.cuda.mem_get_info(device)
        return (total - free) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


class _Entry:
    """One engine with its sensors, and the jobs that are timed."""

    def __init__(
        self, name: str, robot: Robot, bank: Sequence[Course], n: int, device: str, slots: int
    ) -> None:
        before = _memory_mib(device) if device != "cpu" else 0.0
        self.name, self.device, self.n, self.slots = name, device, n, slots
        self.engine: Engine = make_engine(name, robot, bank, n, device=device, slots=slots)
        place = self.engine.device
        self._generator = torch.Generator(place).manual_seed(0)
        self._bank_size = len(bank)
        ids = torch.arange(n, device=place) % self._bank_size
        self.engine.assign(all_worlds(self.engine), ids)
        self.engine.randomise(all_worlds(self.engine), draw(Ranges(), robot, n, self._generator))
        self.engine.reset(all_worlds(self.engine))
        self._turn = 0
        self._targets = [random_targets(robot, n, self._generator) for _ in range(32)]
        self._masks = torch.rand(32, n, generator=self._generator, device=place) < RESET_RATE
        self._draw = draw(Ranges(), robot, n, self._generator)
        self.jobs: dict[str, Job] = {}
        self.note = ""
        if warp_runs_on(device):
            self._add_sensors()
        for _ in range(3):
            self.step_and_reset()
        self.memory_mib = _memory_mib(device) - before
        if isinstance(self.engine, GpuEngine) and warp_runs_on(device):
            self._add_rival(self.engine)

    def _add_sensors(self) -> None:
        n, slots, device, state = self.n, self.slots, self.engine.device, self.engine.state
        boxes = self.engine.boxes
        camera = DepthCamera(DepthCameraCfg(), self.engine.robot.camera, n, slots, device)
        maps = HeightMaps(HeightCfg(), len(self.engine.robot.legs), n, slots, device)
        camera.reset(all_worlds(self.engine), state.base_pos, state.base_quat)
        camera.capture(boxes)

        def noisy() -> None:
            camera.track(state.base_pos, state.base_quat)
            camera.capture(boxes)

        self.jobs["depth ms"] = lambda: camera.depth(boxes, state.base_pos, state.base_quat)
        self.jobs["noisy depth ms"] = noisy
        self.jobs["heights ms"] = lambda: maps(
            boxes, state.base_pos, state.base_quat, state.foot_pos
        )

    def _add_rival(self, engine: GpuEngine) -> None:
        renderer, self.note = try_renderer(lambda: MujocoRenderer(engine, OpticsCfg()))
        if renderer is not None:
            self.jobs["render() ms"] = renderer

    def step(self) -> None:
        self._turn = (self._turn + 1) % len(self._targets)
        self.engine.step(self._targets[self._turn])

    def step_and_reset(self) -> None:
        """Takes a control step, then resets some worlds with new courses, motors and starts."""
        self.step()
        mask = self._masks[self._turn]
        ids = torch.randint(
            0, self._bank_size, (self.n,), generator=self._generator, device=self.engine.device
        )
        self.engine.assign(mask, ids)
        self.engine.randomise(mask, self._draw, bodies=False)
        self.engine.reset(mask)

    def warm_up(self) -> None:
        """Compiles whatever will be timed."""
        for job in (self.step, self.step_and_reset, *self.jobs.values()):
            job()
        _wait(self.device)


def _race_engines(entries: Sequence[_Entry], seconds: float) -> Iterator[dict[str, Any]]:
    """Times engines on one device in turn; then each entry's sensors and their rival."""
    device = entries[0].device
    steps: dict[str, Job] = {}
    for entry in entries:
        steps |= {f"{entry.name} plain": entry.step, f"{entry.name} resets": entry.step_and_reset}
    took = race(steps, seconds=seconds, device=device)
    reports = {entry.name: entry.engine.report() for entry in entries}
    for entry in entries:
        rate = {way: entry.n / took[f"{entry.name} {way}"] for way in ("plain", "resets")}
        row: dict[str, Any] = {"engine": entry.name, "device": device, "worlds": entry.n}
        row["control steps/s"], row["without resets"] = round(rate["resets"]), round(rate["plain"])
        row["speed-up"] = None
        if entry.name == "gpu" and "cpu plain" in took:
            row["speed-up"] = took["gpu resets"] / took["cpu resets"]
        sensing = race(entry.jobs, seconds=seconds / 4, device=device)
        for name in ("depth ms", "noisy depth ms", "heights ms", "render() ms"):
            row[name] = sensing[name] * 1e3 if name in sensing else None
        row["memory MiB"] = round(entry.memory_mib)
        row["note"] = "; ".join(filter(None, (entry.note, _trouble(reports[entry.name]))))
        yield row


def _trouble(report: FaultReport) -> str:
    if report == FaultReport():
        return ""
    return (
        f"{report.nonfinite} non-finite, {report.overflow} overflows, "
        f"{report.pool_overflow} pool overflows"
    )
