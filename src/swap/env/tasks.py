"""Decides which course each world gets, which commands, and which worlds begin a new episode.

This is all in which training differs from measuring: here the tasks of training, whose levels
follow the robots' successes; in `swap.env.trials` those of measuring, which are given.
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
    """What N worlds are asked to do. On a GPU every method but `metrics` and `state_dict` is
    recorded:
    what they read and write from one step to the next stays in place."""

    bank: CourseBank
    family: Tensor
    """[N] long: which of the bank's families each world has."""
    curriculum: Curriculum

    def choose(self, mask: Tensor) -> Tensor:
        """New episodes for `mask` [N] bool; gives a course of the bank for every world [N] long,
        which those in `mask` take."""

    def instruct(self, mask: Tensor, commands: Commands) -> None:
        """The commands of these new episodes."""

    def running(self, fresh: Tensor) -> Tensor:
        """[N] bool: who acts, in an episode that can end; `fresh` [N]: who is being reset."""

    def conclude(self, frame: Frame, verdict: Verdict, late: Tensor) -> Tensor:
        """Takes note of the episodes that end now; gives whose world begins another one [N] bool.
        `late` [N] bool: the robot came less than half as far as it was told to."""

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """Figures by name, of the worlds of all processes, of which each has equally many."""

    def state_dict(self) -> dict[str, Tensor]:
        """All that changes, by name, live; written in place only."""


class CurriculumTasks:
    """Training: a course of the world's family, at a level that follows its successes."""

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
        """Those of a config: its families in their shares, on courses made from `seed`."""
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

    def choose(self, mask: Tensor) -> Tensor:
        self.curriculum.draw(mask)
        variants = self._table.shape[2]
        variant = (self._rng.uniform() * variants).long()
        return self._table[self.family, self.curriculum.level, variant]

    def instruct(self, mask: Tensor, commands: Commands) -> None:
        commands.start(mask, self._is_flat)

    def running(self, fresh: Tensor) -> Tensor:
        return ~fresh

    def conclude(self, frame: Frame, verdict: Verdict, late: Tensor) -> Tensor:
        """Success moves a frontier up; failure, or running out of time by one's own fault, down."""
        slow = (verdict.reason == int(EndReason.TIME)) & late
        failure = verdict.terminated | slow
        self.curriculum.update(verdict.success & frame.course, failure & frame.course)
        return verdict.ended

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> dict[str, float]:
        """Frontiers by family: as a mean size in the family's own unit, and as a mean level."""
        told = {}
        frontier = self.curriculum.frontier
        size = self._sizes[self.family, frontier.clamp(max=self.curriculum.levels - 1)]
        for k, name in enumerate(self.bank.families):
            mine = self.family == k
            if mine.any():
                means = processes.all_reduce(size[mine].mean(), frontier[mine].float().mean())
                for what, x in zip(("frontier", "level"), means, strict=True):
                    told[f"{what}/{name}"] = float(x) / processes.size
        return told

    def state_dict(self) -> dict[str, Tensor]:
        return join_states(curriculum=self.curriculum.state_dict())
