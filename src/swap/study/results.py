"""Reads from the folder of a study how its runs learned and what they can do."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from swap.courses import FAMILIES
from swap.errors import UserError
from swap.evaluate.curves import Curve, read_curve
from swap.study.plan import Folder
from swap.study.study import Run, Study, by_option, command_of

Measured = Mapping[str, Any]
"""The contents of a file that a command wrote with --json."""


@dataclass(frozen=True, order=True)
class Point:
    """A condition under which success was measured."""

    side: str
    family: str
    size: float
    speed: float
    under: str = ""
    """What else the measurement chose: `--blind`, or rough conditions; and its name if another one
    measured the same."""
    unit: str = field(default="m", compare=False)


@dataclass(frozen=True)
class Results:
    """The results of the runs that are done, in the order of the study."""

    study: Study
    curves: Mapping[Run, Curve]
    measured: Mapping[str, Mapping[Run, Measured]]
    """Name of the measurement -> run -> what was measured."""

    def by_command(self, command: str) -> Iterator[tuple[str, Mapping[Run, Measured]]]:
        """The measurements that were made with this command."""
        for name, words in self.study.measure.items():
            if command_of(words) == command and self.measured[name]:
                yield name, self.measured[name]

    @cached_property
    def success(self) -> dict[Run, dict[Point, float]]:
        """What `swap eval` measured, from all measurements together."""
        out: dict[Run, dict[Point, float]] = {}
        known: set[Point] = set()
        for name, files in self.by_command("eval"):
            under = chosen(self.study.measure[name])
            found = [
                (run, point_of(row, under), float(row["success"]))
                for run, file in files.items()
                for row in file["rows"]
            ]
            if not known.isdisjoint(point for _, point, _ in found):  # the same once more
                found = [
                    (run, replace(point, under=f"{point.under} {name}".strip()), success)
                    for run, point, success in found
                ]
            known.update(point for _, point, _ in found)
            for run, point, success in found:
                out.setdefault(run, {})[point] = success
        return out

    def scores(self, points: list[Point]) -> dict[str, np.ndarray]:
        """Arm -> [S, P]: the seeds that were measured at all these points."""
        every = self.success
        out = {}
        for arm in self.study.arms:
            mine = [every.get(Run(arm, seed), {}) for seed in self.study.seeds]
            rows = [[one[p] for p in points] for one in mine if all(p in one for p in points)]
            if rows:
                out[arm] = np.array(rows)
        return out

    def points(self) -> list[Point]:
        """All points that were measured, sides and families in their usual order."""
        every = {point for one in self.success.values() for point in one}
        sides, families = ("left", "right", "both"), list(FAMILIES)

        def place(p: Point) -> tuple[Any, ...]:  # families of the user's own come last
            own = p.family not in families
            family = len(families) if own else families.index(p.family)
            return sides.index(p.side), p.under, family, p.family, p.speed, p.size

        return sorted(every, key=place)


def point_of(row: Measured, under: str = "") -> Point:
    rough = row.get("conditions", "nominal")
    under = " ".join(word for word in (under, "" if rough == "nominal" else rough) if word)
    return Point(
        row["side"], row["family"], round(row["size"], 6), row["speed"], under, row["unit"]
    )


PLACES = ("--family", "--sizes", "--points", "--trials", "--speed", "--side", "--conditions")
"""Options of `swap eval` that a row tells itself, or that do not change what is measured."""


def chosen(words: Sequence[str]) -> str:
    """The other options of a measurement, such as --blind or --randomness swap."""
    others = [typed for name, typed in by_option(words) if name and name not in PLACES]
    return " ".join(word for typed in others for word in typed)


def unit_of(family: str) -> str:
    """The unit of a family's sizes; of the user's own, whose code is not run here, it is not
    known."""
    return FAMILIES[family].size.unit if family in FAMILIES else "?"


def read_results(study: Study, folder: Folder) -> Results:
    curves: dict[Run, Curve] = {}
    measured: dict[str, dict[Run, Measured]] = {name: {} for name in study.measure}
    for run in study.runs:
        if folder.metrics(run).is_file():
            curves[run] = read_curve(folder.metrics(run), run.name, on_flat=True)
        for name, files in measured.items():
            path = folder.measured(name, run)
            if path.is_file():
                files[run] = read_measured(path)
    return Results(study, curves, measured)


def read_measured(path: Any) -> Measured:
    try:
        file = json.loads(path.read_bytes())
    except (OSError, ValueError):
        file = None
    if not isinstance(file, dict) or not isinstance(file.get("rows"), list):
        raise UserError(f"'{path}' is no file of --json; remove it, and it is measured again")
    return file


def steps_to(curve: Curve, family: str, size: float) -> tuple[float, float] | None:
    """Steps and minutes at which the frontier first reached that size; None if it never did.
    Between two lines of the metrics it is interpolated linearly."""
    if family not in curve.frontier:
        return None
    there = np.isfinite(curve.frontier[family])
    frontier, steps, minutes = (
        x[there] for x in (curve.frontier[family], curve.steps, curve.minutes)
    )
    beyond = np.flatnonzero(frontier >= size)
    if not len(beyond):
        return None
    k = int(beyond[0])
    if k == 0:
        return float(steps[0]), float(minutes[0])
    share = (size - frontier[k - 1]) / (frontier[k] - frontier[k - 1])
    at = [float(x[k - 1] + share * (x[k] - x[k - 1])) for x in (steps, minutes)]
    return at[0], at[1]


def frontier_at(curve: Curve, family: str, steps: np.ndarray) -> np.ndarray:
    """The frontier after so many steps, linear between two lines of the metrics."""
    there = np.isfinite(curve.frontier[family])
    return np.interp(steps, curve.steps[there], curve.frontier[family][there])


def reached_families(results: Results) -> list[str]:
    """The families whose frontiers are shown: those of `reach`, or boxes and gaps."""
    wanted = list(results.study.reach) or ["box", "gap"]
    curves = results.curves.values()
    return [name for name in wanted if any(name in curve.frontier for curve in curves)]
