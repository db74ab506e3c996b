"""Finds the largest box and gap that a trained robot masters in a wanted fraction of trials.

It uses bisection: a probe is a number of trials of one size, and success is assumed to fall as
sizes grow. All searches run together and share their probes: each round measures the next size of
every search.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from swap.courses import FAMILIES, difficulty_of
from swap.evaluate.success import Progress, measure
from swap.evaluate.wilson import wilson
from swap.robots import Robot
from swap.runs.trained_robot import TrainedRobot

OBSTACLES = ("box", "gap")
FRACTIONS = (0.9, 0.5)
STEP_M = 0.02
"""A search ends when its bracket is no wider than this."""


class Published(NamedTuple):
    """A real robot's record, in metres, from the paper's comparison."""

    who: str
    body_length: float
    hip_height: float
    gap: float
    box: float


PUBLISHED = (
    Published("Zhuang et al.", 0.40, 0.26, 0.60, 0.40),
    Published("Cheng et al.", 0.40, 0.26, 0.80, 0.50),
    Published("Lai et al.", 0.40, 0.26, 0.85, 0.55),
    Published("Luo et al.", 0.34, 0.25, 1.00, 0.75),
    Published("Hoeller et al.", 0.73, 0.55, 1.00, 1.20),
    Published("Kim et al.", 0.72, 0.49, 1.30, 0.60),
    Published("SWAP, the paper", 0.70, 0.55, 2.13, 1.63),
)


@dataclass(frozen=True)
class Probe:
    """A number of trials of one size, and how many succeeded."""

    size: float
    won: int
    trials: int

    @property
    def rate(self) -> float:
        return self.won / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval."""
        return wilson(self.won, self.trials)


@dataclass(frozen=True)
class Search:
    """Searches for the largest size between `low` and `high` that succeeds in `fraction` of the
    trials."""

    fraction: float
    low: float
    high: float

    def bracket(self, probes: Sequence[Probe]) -> tuple[float | None, float | None]:
        """The largest size that passed below the smallest that failed, and the latter; None for
        what has not been probed. If probes contradict each other, the smaller size counts."""
        failed = min((p.size for p in probes if p.rate < self.fraction), default=None)
        sizes = [p.size for p in probes if p.rate >= self.fraction]
        return max((s for s in sizes if failed is None or s < failed), default=None), failed

    def next(self, probes: Sequence[Probe]) -> float | None:
        """The size to probe next, in whole centimetres between the ends; None when the search is
        over."""
        passed, failed = self.bracket(probes)
        low, high = self._ends(probes)
        if high - low > STEP_M + 1e-9:
            return round((low + high) / 2, 2)
        # The ends are assumed, and probed only if a search gets there.
        if failed is None:
            return None if passed == self.high else self.high
        return self.low if passed is None and failed > self.low else None

    def left(self, probes: Sequence[Probe]) -> int:
        """About how many probes are left."""
        if self.next(probes) is None:
            return 0
        low, high = self._ends(probes)
        return max(1, math.ceil(math.log2(max(high - low, STEP_M) / STEP_M)))

    def interval(self, probes: Sequence[Probe]) -> tuple[float | None, float | None]:
        """From the largest size whose Wilson interval lies above the wanted fraction to the
        smallest whose interval lies below it; None where there is none."""
        above = max((p.size for p in probes if p.interval[0] > self.fraction), default=None)
        return above, min((p.size for p in probes if p.interval[1] < self.fraction), default=None)

    def _ends(self, probes: Sequence[Probe]) -> tuple[float, float]:
        passed, failed = self.bracket(probes)
        return self.low if passed is None else passed, self.high if failed is None else failed


Searches = dict[str, list[Search]]
Probes = dict[str, list[Probe]]
"""By family."""


def contradiction(probes: Sequence[Probe]) -> tuple[Probe, Probe] | None:
    """Two sizes of which the larger succeeded significantly more often, that is, their intervals do
    not overlap. Returns the pair that is farthest apart; None if success falls as sizes grow."""
    pairs = [
        (small, large)
        for small, large in combinations(sorted(probes, key=lambda p: p.size), 2)
        if small.interval[1] < large.interval[0]
    ]
    return max(pairs, key=lambda pair: pair[1].rate - pair[0].rate, default=None)


def run_probes(
    searches: Searches, probe: Callable[[Sequence[tuple[str, float]], Probes], Sequence[Probe]]
) -> Probes:
    """Runs all probes that the searches need. `probe` gets the (family, size) pairs to measure, and
    the probes so far."""
    known: Probes = {family: [] for family in searches}
    while wanted := _next(searches, known):
        for (family, _), found in zip(wanted, probe(wanted, known), strict=True):
            known[family].append(found)
    return known


def _next(searches: Searches, known: Probes) -> list[tuple[str, float]]:
    """The sizes that all searches need next, each once."""
    wanted = {
        (family, one.next(known[family])) for family, mine in searches.items() for one in mine
    }
    return sorted((family, size) for family, size in wanted if size is not None)


def search_all(
    robot: TrainedRobot,
    *,
    trials: int,
    speed_mps: float,
    device: str,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> tuple[Searches, Probes]:
    """Returns the searches for boxes and gaps, one for each fraction, and their probes."""
    searches = {
        name: [
            Search(share, FAMILIES[name].size.low, FAMILIES[name].max_size) for share in FRACTIONS
        ]
        for name in OBSTACLES
    }

    def probe(wanted: Sequence[tuple[str, float]], known: Probes) -> list[Probe]:
        before = trials * sum(map(len, known.values()))
        left = [one.left(known[name]) for name, mine in searches.items() for one in mine]
        shared = sum(n > 0 for n in left) - len(wanted)  # two searches, one probe
        total = before + trials * (sum(left) - shared)

        def report(now: Progress) -> None:
            if on_progress is not None:
                share = (before + now.fraction * now.trials) / total
                on_progress(Progress(before + now.ended, total, share))

        rows = measure(
            robot,
            [(family, difficulty_of(family, size)) for family, size in wanted],
            trials=trials,
            speeds_mps=(speed_mps,),
            device=device,
            seed=seed,
            on_progress=report,
        )
        return [
            Probe(size, round(row["success"] * trials), trials)
            for (_, size), row in zip(wanted, rows, strict=True)
        ]

    return searches, run_probes(searches, probe)


def record_table(searches: Searches, probes: Probes, robot: Robot) -> list[dict[str, Any]]:
    """A row for each family and fraction; sizes in metres, None if even the smallest is too
    large."""
    rows = []
    for family, mine in searches.items():
        found = probes[family]
        for search in mine:
            size, _ = search.bracket(found)
            rows.append(
                {
                    "family": family,
                    "fraction": search.fraction,
                    "size": size,
                    "at_least": size == search.high,
                    "interval": search.interval(found),
                    "over_body_length": size and size / robot.hip_to_hip,
                    "over_hip_height": size and size / robot.hip_height,
                    "trials": found[0].trials,
                    "probes": len(found),
                }
            )
    return rows
