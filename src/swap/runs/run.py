"""Runs a training: iterations, checkpoints, metrics, and a clean end."""

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn.trainable import Trainable
from swap.presets.run_cfg import RunCfg
from swap.runs import checkpoint, console
from swap.runs.checkpoint import Checkpoint
from swap.runs.checkpoint_saver import RUN, CheckpointSaver
from swap.runs.distributed_trainable import DistributedTrainable
from swap.runs.guard import Guard
from swap.runs.interrupt import Interrupt, SilentBoard
from swap.runs.lock import LOCK, locked
from swap.runs.metrics import BOARD, FILE, Metrics
from swap.runs.run_clock import RunClock
from swap.signals import exit_code
from swap.streams import resilient_output


@dataclass(frozen=True)
class RunResult:
    """How a run ended. `fault` is None after a clean end."""

    iteration: int
    elapsed_s: float
    metrics: Mapping[str, float]
    saved: Path | None
    signal: int | None
    """The signal that ended it before its goal."""
    fault: str | None

    @property
    def interrupted(self) -> bool:
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """0 after a clean end, 1 after a fault; after a signal, 128 plus its number, as in
        shells."""
        if self.fault:
            return 1
        return 0 if self.signal is None else exit_code(self.signal)


def train(
    trainable: Trainable,
    folder: Path,
    cfg: RunCfg,
    *,
    config: Mapping[str, Any] | None = None,
    resume: Checkpoint | None = None,
    started_s: float | None = None,
    board: console.Board | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> RunResult:
    """Iterates until a goal of `cfg` is reached, or a signal or the guard stops the run.

    `config` goes into every checkpoint. `started_s` (time.monotonic) is when the clock started: the
    time to build the trainable counts. The goals are totals over all sittings of a run. With
    several `processes`, process 0 leads and returns the full result; the others know only how it
    ended. A new run that is stopped before its first iteration, or by a mistake that it finds,
    leaves no files.
    """
    distributed = DistributedTrainable(trainable, processes)
    if processes.rank:
        return run_follower(distributed, resume)
    board, fresh = board or console.board(folder.name), not folder.exists()
    with resilient_output(), Interrupt(board) as interrupt, locked(folder) as lock, board:
        if resume is None and checkpoint.numbered(folder / checkpoint.FOLDER):
            raise UserError(f"'{folder}' already holds a run; resume it, or name another folder")
        iteration, spent_s, steps = restore(distributed, resume) if resume else (0, 0.0, 0.0)
        run_clock = RunClock(
            cfg.minutes,
            cfg.iterations,
            cfg.steps,
            spent_s=spent_s,
            iteration=iteration,
            done_steps=steps,
            started_s=started_s,
        )
        saver = CheckpointSaver(distributed, folder, cfg, config or {}, run_clock, board.say)
        if resume:
            saver.saved = resume.path
        else:  # at once, so that a folder that cannot be written is reported before any work
            saver.save(first=True)
        guard = Guard(cfg.guard, folder, board.say, cfg.shard_mib)
        metrics: Mapping[str, float] = {}
        fault: str | None = None
        with Metrics(folder, iteration, board.say, tensorboard=cfg.tensorboard) as log:
            planned: float | None = None
            while not (run_clock.over or interrupt.asked or fault):
                if (total := run_clock.forecast()) is not None and total != planned:
                    planned = total
                    distributed.plan(total)
                with nothing_left(folder, fresh, new=iteration == 0 and resume is None):
                    metrics = distributed.iterate()
                iteration += 1
                run_clock.tick(iteration, metrics.get("steps", 0.0))
                if lock.lost:
                    break
                log.write(iteration, run_clock.elapsed_s, metrics)
                fault = guard.check(iteration, metrics, trainable)
                board.show(run_clock, metrics, guard.totals)
                saver.healthy = guard.strikes == 0
                if saver.due:
                    log.sync()
                    saver.save()
            if lock.lost:
                last = saver.saved.name if saver.saved else "none"
                fault = f"'{folder}' was moved or removed; the run has stopped, last saved: {last}"
            else:
                log.sync()
                saver.save()
        distributed.finish(interrupt.signal or 0)
        if fault is None and saver.failure:
            fault = saver.failure
        if interrupt.asked and iteration == 0 and not resume and not lock.lost:
            remove_new_run(folder, fresh)
            saver.saved = None
    return RunResult(iteration, run_clock.elapsed_s, metrics, saver.saved, interrupt.signal, fault)


def run_follower(distributed: DistributedTrainable, resume: Checkpoint | None) -> RunResult:
    """Runs a process that does not lead: it iterates when it is told to, and prints nothing."""
    with Interrupt(SilentBoard()):  # torchrun sends Ctrl-C to all; the leader decides
        iteration, spent_s, _ = restore(distributed, resume) if resume else (0, 0.0, 0.0)
        sig = distributed.follow_leader()
    return RunResult(iteration, spent_s, {}, None, sig or None, None)


def restore(distributed: DistributedTrainable, resume: Checkpoint) -> tuple[int, float, float]:
    """Restores trainable and random state; returns the iteration, and the seconds and control steps
    spent so far."""
    numbers = {key: value for key, value in resume.numbers.items() if key != RUN}
    distributed.check(numbers)
    try:
        distributed.restore(resume.tensors, numbers)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines()] or [type(error).__name__]
        reason = " ".join(lines[:2])  # torch gives its reason on the second line
        raise UserError(
            f"checkpoint {resume.path.name} does not fit this config: {reason}; to begin a new run "
            f"with its networks: swap train --from {shlex.quote(str(resume.path.parent.parent))}"
        ) from error
    spent = resume.numbers[RUN]
    return resume.iteration, spent["elapsed_s"], spent.get("steps", 0.0)


@contextlib.contextmanager
def nothing_left(folder: Path, fresh: bool, *, new: bool) -> Iterator[None]:
    """Removes a `new` run whose first iteration finds a mistake of the user's, such as a reward of
    the wrong shape: mended, the same command can be given again."""
    try:
        yield
    except UserError:
        if new:
            remove_new_run(folder, fresh)
        raise


def remove_new_run(folder: Path, fresh: bool) -> None:
    """Removes what a run has written before its first iteration; the folder too, if `fresh`."""
    home = folder / checkpoint.FOLDER
    with contextlib.suppress(OSError):
        checkpoint.retire(home / f"{0:06d}")
        shutil.rmtree(folder / BOARD, ignore_errors=True)
        for file in (home / checkpoint.LATEST, folder / FILE):
            file.unlink(missing_ok=True)
        home.rmdir()
        if fresh:
            (folder / LOCK).unlink()
            folder.rmdir()
