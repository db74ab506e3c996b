"""The run: a trainee and a folder in; iterations, checkpoints, metrics and a clean end out."""

import contextlib
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from swap.errors import UserError
from swap.runs import checkpoint, console
from swap.runs.checkpoint import Checkpoint, SaveError, Say
from swap.runs.crew import Crew
from swap.runs.guard import Guard, GuardCfg, has_nan
from swap.runs.interrupt import Deaf, Interrupt
from swap.runs.lock import LOCK, locked
from swap.runs.metrics import BOARD, FILE, Metrics
from swap.runs.pace import Pace
from swap.runs.trainee import Trainee
from swap.streams import lasting_output
from swap.team import ALONE, Team
from swap.validate import check_numbers

RUN = "run"
"""What the run itself keeps in a checkpoint, beside everyone's tensors and numbers."""


@dataclass(frozen=True)
class RunCfg:
    """How long a run takes and what it leaves behind; without a goal it runs until Ctrl-C."""

    minutes: float | None = None
    """Wall minutes, compiling and the last save included; with --resume: so many more. None: no
    limit."""
    iterations: int | None = None
    """Iterations; with --resume: so many more."""
    steps: float | None = None
    """Control steps of all worlds together; with --resume: so many more."""
    save_minutes: float = 2.0
    """Minutes between checkpoints."""
    keep: int = 3
    """Checkpoints to keep; fewer where the disk is full."""
    milestone_minutes: float | None = None
    """Keep one checkpoint for good every so many minutes."""
    shard_mib: float = 14.0
    """Largest file of a checkpoint, MiB."""
    tensorboard: bool = True
    """Write TensorBoard events beside metrics.jsonl."""
    guard: GuardCfg = field(default_factory=GuardCfg)

    def __post_init__(self) -> None:
        spans = ("minutes", "steps", "save_minutes", "milestone_minutes")
        check_numbers(self, not_negative=spans)
        if self.keep < 1:
            raise UserError(f"keep={self.keep} leaves no checkpoint; use 1 or more, 3 is usual")
        if self.shard_mib <= 0:
            raise UserError(f"shard_mib={self.shard_mib} holds nothing; use 14")


@dataclass(frozen=True)
class Outcome:
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


def train(
    trainee: Trainee,
    folder: Path,
    cfg: RunCfg,
    *,
    config: Mapping[str, Any] | None = None,
    resume: Checkpoint | None = None,
    started_s: float | None = None,
    board: console.Board | None = None,
    team: Team = ALONE,
) -> Outcome:
    """Iterate until a goal of `cfg` is reached, or a signal or the guard says stop.

    `config` goes into every checkpoint. `started_s` (time.monotonic) is when the clock began to
    run: the time to build the trainee counts. The goals are totals over all sittings of a run. Of
    a `team`, process 0 leads and tells the outcome; the others know only how it ended. A new run
    that is stopped before its first iteration leaves nothing behind.
    """
    crew = Crew(trainee, team)
    if team.rank:
        return assist(crew, resume)
    board, fresh = board or console.board(folder.name), not folder.exists()
    with lasting_output(), Interrupt(board) as interrupt, locked(folder) as lock, board:
        if resume is None and checkpoint.numbered(folder / checkpoint.FOLDER):
            raise UserError(f"'{folder}' already holds a run; resume it, or name another folder")
        iteration, spent_s, steps = restore(crew, resume) if resume else (0, 0.0, 0.0)
        pace = Pace(
            cfg.minutes,
            cfg.iterations,
            cfg.steps,
            spent_s=spent_s,
            iteration=iteration,
            done_steps=steps,
            started_s=started_s,
        )
        keeper = Keeper(crew, folder, cfg, config or {}, pace, board.say)
        if resume:
            keeper.saved = resume.path
        else:  # before any work: a folder that cannot be written is told now, not after an hour
            keeper.save(first=True)
        guard = Guard(cfg.guard, folder, board.say, cfg.shard_mib)
        metrics: Mapping[str, float] = {}
        fault: str | None = None
        with Metrics(folder, iteration, board.say, tensorboard=cfg.tensorboard) as log:
            planned: float | None = None
            while not (pace.over or interrupt.asked or fault):
                if (total := pace.forecast()) is not None and total != planned:
                    planned = total
                    crew.plan(total)
                metrics = crew.iterate()
                iteration += 1
                pace.tick(iteration, metrics.get("steps", 0.0))
                if lock.lost:
                    break
                log.write(iteration, pace.elapsed_s, metrics)
                fault = guard.check(iteration, metrics, trainee)
                board.show(pace, metrics, guard.totals)
                keeper.healthy = guard.strikes == 0
                if keeper.due:
                    log.sync()
                    keeper.save()
            if lock.lost:
                last = keeper.saved.name if keeper.saved else "none"
                fault = f"'{folder}' was moved or removed; the run has stopped, last saved: {last}"
            else:
                log.sync()
                keeper.save()
        crew.dismiss(interrupt.signal or 0)
        if fault is None and keeper.failure:
            fault = keeper.failure
        if interrupt.asked and iteration == 0 and not resume and not lock.lost:
            unmake(folder, fresh)
            keeper.saved = None
    return Outcome(iteration, pace.elapsed_s, metrics, keeper.saved, interrupt.signal, fault)


def assist(crew: Crew, resume: Checkpoint | None) -> Outcome:
    """A process that does not lead: it iterates as often as it is told to, and says nothing."""
    with Interrupt(Deaf()):  # torchrun tells everyone of a Ctrl-C; what to do is for the leader
        iteration, spent_s, _ = restore(crew, resume) if resume else (0, 0.0, 0.0)
        sig = crew.obey()
    return Outcome(iteration, spent_s, {}, None, sig or None, None)


def restore(crew: Crew, resume: Checkpoint) -> tuple[int, float, float]:
    """Trainee and chance as they were; gives the iteration, and the seconds and control steps spent
    so far."""
    numbers = {key: value for key, value in resume.numbers.items() if key != RUN}
    crew.check(numbers)
    try:
        crew.restore(resume.tensors, numbers)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines()] or [type(error).__name__]
        told = " ".join(lines[:2])  # torch gives its reason on the second line
        raise UserError(
            f"checkpoint {resume.path.name} does not fit this config: {told}; to begin a new run "
            f"with its networks: swap train --from {shlex.quote(str(resume.path.parent.parent))}"
        ) from error
    spent = resume.numbers[RUN]
    return resume.iteration, spent["elapsed_s"], spent.get("steps", 0.0)


class Keeper:
    """Saves when it is time; a failure is said aloud, and the next time tries again."""

    def __init__(
        self,
        crew: Crew,
        folder: Path,
        cfg: RunCfg,
        config: Mapping[str, Any],
        pace: Pace,
        say: Say,
    ) -> None:
        self.crew, self.folder, self.cfg, self.config = crew, folder, cfg, config
        self.pace, self.say = pace, say
        self.saved: Path | None = None
        self.failure: str | None = None
        self.healthy = True
        self.tried_s = self.milestone_s = pace.elapsed_s

    @property
    def due(self) -> bool:
        return self.pace.elapsed_s - self.tried_s >= 60.0 * self.cfg.save_minutes

    def save(self, first: bool = False) -> None:
        """One checkpoint of this moment, unless it is there already."""
        if self.saved is not None and int(self.saved.name) == self.pace.iteration:
            return
        began = self.pace.elapsed_s
        self.tried_s = began
        tensors, numbers = self.crew.state()
        if not self._sound(tensors):
            return
        numbers = {**numbers, RUN: {"elapsed_s": began, "steps": self.pace.steps}}
        every = self.cfg.milestone_minutes
        milestone = every is not None and began - self.milestone_s >= 60.0 * every
        try:
            self.saved = checkpoint.save(
                self.folder,
                self.pace.iteration,
                tensors,
                numbers,
                self.config,
                keep=self.cfg.keep,
                milestone=milestone,
                shard_mib=self.cfg.shard_mib,
                say=self.say,
            )
        except SaveError as error:
            if first:
                raise UserError(str(error)) from error
            self.failure = str(error)
            self.say(self.failure)
            return
        self.failure = None
        self.milestone_s = began if milestone else self.milestone_s
        self.pace.saved(self.pace.elapsed_s - began)

    def _sound(self, tensors: Mapping[str, Tensor]) -> bool:
        """A broken state must not push the good checkpoints out."""
        nan = has_nan(tensors)
        if self.healthy and not nan:
            return True
        why = f"NaN in {', '.join(nan[:4])}" if nan else "the last metrics are not finite"
        last = self.saved.name if self.saved else "none"
        self.failure = f"iteration {self.pace.iteration} is not saved: {why}; last good: {last}"
        self.say(self.failure)
        return False


def unmake(folder: Path, fresh: bool) -> None:
    """Take back what a run has written before its first iteration; the folder too, if `fresh`."""
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
