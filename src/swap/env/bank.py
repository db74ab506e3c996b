"""Builds a bank of courses for all families and levels, and a table that finds a course in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from swap.courses import FAMILIES, Course, Goals, goals, make, run_up, size_of


@dataclass(frozen=True)
class CourseBank:
    """All courses of an environment, by family, level and variant."""

    families: tuple[str, ...]
    courses: tuple[Course, ...]
    table: Tensor  # [F, L, V] long: where in `courses`
    sizes: Tensor  # [F, L] of each level, in the family's own unit

    @property
    def levels(self) -> int:
        return self.table.shape[1]

    @property
    def slots(self) -> int:
        """How many boxes a world must hold; not more, because parked boxes cost time."""
        return max(course.n for course in self.courses)


class StartsAndGoals:
    """The start and goal of each of `n` worlds, in tensors with fixed storage."""

    def __init__(self, bank: CourseBank, n: int, device: torch.device, run_up_skip: bool) -> None:
        """With `run_up_skip`, robots may start further ahead, on the level ground before the
        obstacle."""
        every, start_z = goals(bank.courses), [course.start_z for course in bank.courses]
        level = [run_up(course) if run_up_skip else 0.0 for course in bank.courses]
        starts = torch.tensor([start_z, level])
        table = [every.x, every.z, every.tilt, every.lane, *starts]
        self._bank = torch.stack([x.float() for x in table]).to(device)  # [6, courses]
        self._here = torch.zeros(len(table), n, device=device)
        self.goals, self.start_z = Goals(*self._here[:4]), self._here[4]
        self.run_up = self._here[5]
        """[N] m: how far ahead robots may start."""

    def select(self, course_id: Tensor) -> None:
        """Take starts and goals from the worlds' present courses, [N]."""
        torch.index_select(self._bank, 1, course_id, out=self._here)


def build_bank(
    families: Sequence[str],
    levels: int,
    variants: int,
    mirror_half: bool,
    seed: int,
    max_difficulty: float = 1.0,
    tilt_deg: tuple[float, float] | None = None,
) -> CourseBank:
    """Build the courses. The same seed gives a family the same courses, whatever other families are
    in the list. Levels go from 0 to `max_difficulty`, or to the hardest that can be built of a
    family. For `tilt_deg` see `swap.courses.make`."""
    courses: list[Course] = []
    table = torch.zeros(len(families), levels, variants, dtype=torch.long)
    sizes = torch.zeros(len(families), levels)
    for f, name in enumerate(families):
        steps = difficulties(name, levels, max_difficulty)
        sizes[f] = torch.tensor([size_of(name, d) for d in steps])
        rng = np.random.default_rng([seed, *name.encode()])
        for level, difficulty in enumerate(steps):
            for v in range(variants):
                course = make(name, difficulty, rng, tilt_deg)
                table[f, level, v] = len(courses)
                courses.append(course.mirror() if mirror_half and v % 2 else course)
    return CourseBank(tuple(families), tuple(courses), table, sizes)


def difficulties(family: str, levels: int, max_difficulty: float) -> list[float]:
    """The difficulty of each level, evenly from 0 to `max_difficulty` or the family's maximum."""
    every: list[float] = np.linspace(
        0.0, min(max_difficulty, FAMILIES[family].max_difficulty), levels
    ).tolist()
    return every


def assign_families(shares: Sequence[float], n: int) -> Tensor:
    """The family of each of `n` worlds, [N] long, in blocks proportional to the shares."""
    ends = torch.tensor(list(accumulate(shares)), dtype=torch.float64)
    places = (torch.arange(n, dtype=torch.float64) + 0.5) / n * ends[-1]
    return torch.searchsorted(ends, places).clamp_(max=len(shares) - 1)
