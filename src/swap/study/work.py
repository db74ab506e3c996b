"""Trains and measures the robots of a study, all or some of its runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from swap import openmp
from swap.device.choice import choose_device
from swap.study.mps import mps
from swap.study.plan import CommandLine, Folder, Kind, commands_left, missing_model, remove_stale
from swap.study.pool import Chain, Pool, Start, start_process
from swap.study.status import status_line
from swap.study.study import Run, Study

Say = Callable[[str], None]
MOST_MEASUREMENTS = 4
"""Most measurements of one run at once: each needs memory of the GPU."""


@dataclass(frozen=True)
class WorkResult:
    """How the work ended."""

    summary: str
    failed: list[str]
    stopped: str | None
    signal: int | None


def run_study(
    study: Study,
    folder: Folder,
    runs: Sequence[Run],
    *,
    device: str,
    at_once: int = 1,
    minutes: float | None = None,
    only: str | None = None,
    started_s: float | None = None,
    say: Say = print,
    start: Start | None = None,
) -> WorkResult:
    """Does what is left of these runs. `only`: train, or measure. `start`: how commands are
    started, if not as processes."""
    chains, failed = [], []
    for run in runs:
        commands = [c for c in commands_left(study, folder, run, device) if wanted(c, only)]
        if only == "measure" and not folder.metrics(run).is_file():
            continue  # there is nothing to measure yet
        if why := missing_model(folder, commands):
            failed.append(why)
            say(why)
        elif commands:
            if stale := remove_stale(study, folder, run):
                say(f"{run.name} is trained anew; removed what was measured: {len(stale)} files")
            chains.append(Chain(commands))
    on_gpu = choose_device(device) != "cpu"
    with mps(on_gpu and at_once > 1 and bool(chains), say) as env:
        pool = Pool(
            folder,
            chains,
            start or start_process({**env, **threads(on_gpu, at_once)}),
            at_once=at_once,
            measure_at_once=measure_at_once(on_gpu, at_once),
            minutes=minutes,
            say=say,
            status=partial(status_line, study, folder),
        )
        pool.run(started_s)
    failed += [chain.failed for chain in chains if chain.failed]
    done = sum(is_done(study, folder, run, device) for run in study.runs)
    summary = f"{done} of {len(study.runs)} runs are trained and measured"
    return WorkResult("; ".join([summary, *failed]), failed, pool.stopped, pool.signal)


def is_done(study: Study, folder: Folder, run: Run, device: str) -> bool:
    """Whether a run is trained and measured; a machine that draws no films can do that, too."""
    return all(c.kind is Kind.FILM for c in commands_left(study, folder, run, device))


def wanted(command: CommandLine, only: str | None) -> bool:
    measures = command.kind in (Kind.MEASURE, Kind.FILM)
    return only is None or measures == (only == "measure")


def measure_at_once(on_gpu: bool, at_once: int) -> int:
    """How many measurements of one run go at once: on a GPU, which one leaves mostly idle, as many
    as have a core."""
    return min(MOST_MEASUREMENTS, max(1, openmp.usable_cores() // at_once)) if on_gpu else 1


def threads(on_gpu: bool, at_once: int) -> dict[str, str]:
    """Environment variables that divide the cores among several runs on a CPU."""
    if on_gpu or at_once == 1 or openmp.set_by_user():
        return {}
    return {openmp.THREADS: str(max(1, openmp.usable_cores() // at_once))}
