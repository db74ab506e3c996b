"""Saves checkpoints of a run at intervals, and only if its state is finite."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from swap.errors import UserError
from swap.presets.run_cfg import RunCfg
from swap.runs import checkpoint
from swap.runs.checkpoint import SaveError, Say
from swap.runs.distributed_trainable import DistributedTrainable
from swap.runs.guard import has_nan
from swap.runs.run_clock import RunClock

RUN = "run"
"""Name of the run's own entry in a checkpoint, beside the tensors and numbers of the trainable."""


class CheckpointSaver:
    """Saves at intervals; a failure is printed, and the next save tries again."""

    def __init__(
        self,
        distributed: DistributedTrainable,
        folder: Path,
        cfg: RunCfg,
        config: Mapping[str, Any],
        run_clock: RunClock,
        say: Say,
    ) -> None:
        self.distributed, self.folder, self.cfg, self.config = distributed, folder, cfg, config
        self.run_clock, self.say = run_clock, say
        self.saved: Path | None = None
        self.failure: str | None = None
        self.healthy = True
        self.tried_s = self.milestone_s = run_clock.elapsed_s

    @property
    def due(self) -> bool:
        return self.run_clock.elapsed_s - self.tried_s >= 60.0 * self.cfg.save_minutes

    def save(self, first: bool = False) -> None:
        """Saves a checkpoint of the present state, unless there is one already."""
        if self.saved is not None and int(self.saved.name) == self.run_clock.iteration:
            return
        began = self.run_clock.elapsed_s
        self.tried_s = began
        tensors, numbers = self.distributed.gather_state()
        if not self._sound(tensors):
            return
        numbers = {**numbers, RUN: {"elapsed_s": began, "steps": self.run_clock.steps}}
        every = self.cfg.milestone_minutes
        milestone = every is not None and began - self.milestone_s >= 60.0 * every
        try:
            self.saved = checkpoint.save(
                self.folder,
                self.run_clock.iteration,
                tensors,
                numbers,
                self.config,
                keep=self.cfg.keep_checkpoints,
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
        self.run_clock.saved(self.run_clock.elapsed_s - began)

    def _sound(self, tensors: Mapping[str, Tensor]) -> bool:
        """Whether the state may be saved: a broken one must not replace good checkpoints."""
        nan = has_nan(tensors)
        if self.healthy and not nan:
            return True
        why = f"NaN in {', '.join(nan[:4])}" if nan else "the last metrics are not finite"
        last = self.saved.name if self.saved else "none"
        self.failure = (
            f"iteration {self.run_clock.iteration} is not saved: {why}; last good: {last}"
        )
        self.say(self.failure)
        return False
