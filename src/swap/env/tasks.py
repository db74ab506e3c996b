"""Decides which course and commands each world gets, and which worlds begin a new episode.

Only this differs between training and evaluation. Here are the tasks of training, whose levels
follow the robots' successes; `swap.env.trials` has those of evaluation, which are given.
"""

from typing import Protocol

import torch
from torch import Tensor

from swap.courses import FAMILIES
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env.bank import CourseBank, assign_families, build_bank
from swap.env.cfg import CurriculumCfg, EnvCfg
from swap.env.commands import Commands
from swap.env.curriculum import Curriculum
from swap.env.frame import Frame
from swap.env.random_source import RandomSource
from swap.env.terminations import EndReason, Verdict
from swap.state_dict import join_states


class Tasks(Protocol):
    """The tasks of N worlds. On a GPU every method but `metrics` and `state_dict` is recorded, so
    the tensors that they read and write from one step to the next keep their storage."""

    bank: CourseBank
    family: Tensor
    """[N] long: the index of each world's family in the bank."""
    curriculum: Curriculum

    def choose_courses(self, mask: Tensor) -> Tensor:
        """Begin new episodes in `mask` [N] bool. Returns the index of a course in the bank for
        every world [N] long; only those in `mask` use it."""

    def set_commands(self, mask: Tensor, commands: Commands) -> None:
        """Give these new episodes their commands."""

    def running(self, fresh: Tensor) -> Tensor:
        """[N] bool: the worlds that act, in an episode that can end; those in `fresh` [N] are being
        reset."""

    def end_episodes(self, frame: Frame, verdict: Verdict, late: Tensor) -> Tensor:
        """Record the episodes that end now; return the worlds that begin another one [N] bool.
        `late` [N] bool: the robot came less than half as far as commanded."""

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """Metrics by name, over the worlds of all processes, which must have equally many."""

    def state_dict(self) -> dict[str, Tensor]:
        """All changing tensors by name, not copied; they are only written in place."""


class CurriculumTasks:
    """The tasks of training: courses of each world's family, at a level that follows success."""

    def __init__(
        self, cfg: CurriculumCfg, bank: CourseBank, family: Tensor, rng: RandomSource
    ) -> None:
        self.bank, self.family, self._rng = bank, family.to(rng.device), rng
        self._table, self._sizes = bank.table.to(rng.device), bank.sizes.to(rng.device)
        flat = torch.tensor([name == "flat" for name in bank.families])
        self._is_flat = flat.to(rng.device)[self.family]
        self.curriculum = Curriculum(cfg, bank.levels, rng)

    @classmethod
    def of(cls, cfg: EnvCfg, rng: RandomSource, seed: int) -> "CurriculumTasks":
        """Make the tasks of a config: its families in their shares, on courses made from `seed`."""
        words, shares = zip(*cfg.families, strict=True)
        names = [FAMILIES[word].name for word in words]
        bank = build_bank(
            names,
            cfg.levels,
            cfg.variants,
            cfg.mirror_half,
            seed,
            cfg.max_difficulty,
            cfg.tilt_deg,
        )
        return cls(cfg.curriculum, bank, assign_families(shares, rng.n), rng)

    def choose_courses(self, mask: Tensor) -> Tensor:
        self.curriculum.draw(mask)
        variants = self._table.shape[2]
        variant = (self._rng.uniform() * variants).long()
        return self._table[self.family, self.curriculum.level, variant]

    def set_commands(self, mask: Tensor, commands: Commands) -> None:
        commands.start(mask, self._is_flat)

    def running(self, fresh: Tensor) -> Tensor:
        return ~fresh

    def end_episodes(self, frame: Frame, verdict: Verdict, late: Tensor) -> Tensor:
        """Success moves a frontier up; failure, or a timeout of a robot that was `late`, down."""
        slow = (verdict.reason == int(EndReason.TIME)) & late
        failure = verdict.terminated | slow
        self.curriculum.update(verdict.success & frame.has_goal, failure & frame.has_goal)
        return verdict.ended

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """Frontiers by family: as a mean size in the family's own unit, and as a mean level."""
        metrics = {}
        frontier = self.curriculum.frontier
        size = self._sizes[self.family, frontier.clamp(max=self.curriculum.levels - 1)]
        for k, name in enumerate(self.bank.families):
            mine = self.family == k
            if mine.any():
                means = processes.all_reduce(size[mine].mean(), frontier[mine].float().mean())
                for what, x in zip(("frontier", "level"), means, strict=True):
                    metrics[f"{what}/{name}"] = float(x) / processes.size
        return metrics

    def state_dict(self) -> dict[str, Tensor]:
        return join_states(curriculum=self.curriculum.state_dict())
