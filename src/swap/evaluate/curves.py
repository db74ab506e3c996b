"""Reads metrics of runs and files of `swap eval`, and compares them as curves and tables."""

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from swap.courses import FAMILIES
from swap.errors import UserError, unknown
from swap.runs.metrics import read_metrics

Row = Mapping[str, Any]

FRONTIER = "frontier/"
SLACK = 0.03
"""A run stops a little before its goal: one that lasted 8.8 minutes still has a figure for 9."""
COLUMNS = 6
"""Most columns of minutes in a table, unless the user names them."""
MEASURED = {"family", "size", "unit", "success", "low", "high"}
"""The keys of a point of `swap eval` that a figure needs."""


@dataclass(frozen=True)
class Curve:
    """The course of a run, with one entry for each line of its metrics."""

    name: str
    minutes: np.ndarray  # [T], over all sittings
    steps: np.ndarray  # [T]
    iterations: int
    frontier: Mapping[str, np.ndarray]  # family -> [T] in its own unit, nan where it is not known

    def after(self, family: str, minutes: float) -> float | None:
        """The frontier at that time; None if the run was shorter or did not train on the family."""
        if family not in self.frontier or self.minutes[-1] < minutes * (1 - SLACK):
            return None
        values = self.frontier[family]
        values = values[(self.minutes <= minutes) & np.isfinite(values)]
        return float(values[-1]) if len(values) else None

    @property
    def steps_per_s(self) -> float | None:
        """Steps per second over the last half of the run, because the beginning compiles."""
        late = self.minutes >= self.minutes[-1] / 2
        minutes, steps = self.minutes[late], self.steps[late]
        took_s = 60.0 * (minutes[-1] - minutes[0])
        return float((steps[-1] - steps[0]) / took_s) if took_s > 0 else None


def sized_families() -> list[str]:
    """The families that have sizes, whose frontier can move."""
    return [name for name, family in FAMILIES.items() if family.size.low < family.size.high]


def read_curve(path: Path, name: str, *, on_flat: bool = False) -> Curve:
    """Reads the folder of a run, or a .jsonl file of its metrics. `on_flat`: a run that trained on
    flat ground alone, and so has no frontier, will do."""
    metrics: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        metrics = read_metrics(path)
    if not metrics:
        raise UserError(
            f"no metrics in '{path}'; name the folder of a swap train run, or a .jsonl file"
        )
    rows: list[Row] = []
    for row in metrics:
        if row.keys() >= {"iteration", "wall_s"}:
            # An iteration that appears again was lost, and a resumed run repeated it.
            while rows and rows[-1]["iteration"] >= row["iteration"]:
                rows.pop()
            rows.append(row)
    told_of = {key for row in rows for key in row}
    families = [name for name in sized_families() if FRONTIER + name in told_of]
    if not families and not (on_flat and rows):
        raise UserError(
            f"no frontier in '{path}'; name a run that trained a robot on courses with sizes, and "
            "courses of your own by --families file.py:NAME"
        )
    return Curve(
        name,
        accumulated(_column(rows, "wall_s")) / 60.0,
        _column(rows, "steps"),
        rows[-1]["iteration"],
        {name: _column(rows, FRONTIER + name) for name in families},
    )


def accumulated(wall_s: np.ndarray) -> np.ndarray:
    """Turns [T] seconds of a clock that may have restarted into [T] seconds that only grow."""
    before = np.concatenate([[0.0], wall_s[:-1]])
    return wall_s + np.cumsum(np.where(wall_s < before, before, 0.0))


def _column(rows: Sequence[Row], key: str) -> np.ndarray:
    values = [row.get(key) for row in rows]
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def read_success(path: Path) -> list[dict[str, Any]]:
    """Reads the points of a file that `swap eval --json` wrote."""
    try:
        every = json.loads(path.read_text())["rows"]
        rows = [row for row in every if row.keys() >= MEASURED and row["family"] in FAMILIES]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        rows = []
    if not rows:
        raise UserError(f"no success rates in '{path}'; name a file of swap eval --json")
    return rows


def by_speed(name: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The points of one robot as arms: one arm, or one for each commanded speed if there are
    several."""
    speeds = list(dict.fromkeys(row.get("speed") for row in rows))
    if len(speeds) == 1:
        return {name: list(rows)}
    return {
        f"{name} {speed:g} m/s".strip(): [row for row in rows if row.get("speed") == speed]
        for speed in speeds
        if speed is not None
    }


def labels(paths: Sequence[Path], given: Sequence[str] = ()) -> list[str]:
    """The given names, or the shortest end of each path that distinguishes it from the others."""
    if given and len(given) != len(paths):
        raise UserError(f"{len(given)} --names for {len(paths)} curves; give one a curve")
    parts = [_name_parts(path) for path in paths]
    names = list(given) or [path[-1] for path in parts]
    for depth in range(2, max(map(len, parts), default=0) + 1):
        if given or len(set(names)) == len(names):
            break
        names = ["/".join(path[-depth:]) for path in parts]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise UserError(f"two curves are called '{twice[0]}'; give each a name with --names")
    return names


def _name_parts(path: Path) -> tuple[str, ...]:
    """`out/train/first/metrics.jsonl` is called first, `experiments/teacher-0.jsonl` teacher-0."""
    whole = Path(os.path.abspath(path))
    if whole.is_dir():
        return whole.parts
    bare = whole.with_suffix("")
    return bare.parent.parts if bare.name in ("metrics", "eval") else bare.parts


def trained_on(curves: Sequence[Curve]) -> list[str]:
    """The families of all runs, in their usual order."""
    return [name for name in sized_families() if any(name in curve.frontier for curve in curves)]


def measured_on(arms: Mapping[str, Sequence[Row]]) -> list[str]:
    """The families of measured points, in their usual order."""
    there = {row["family"] for rows in arms.values() for row in rows}
    return [name for name in FAMILIES if name in there]


def selected(asked: Sequence[str], there: Sequence[str]) -> list[str]:
    """The families in `asked`, which must be in `there`; all of them if none is asked for."""
    for name in asked:
        if name not in FAMILIES and name != "all":
            raise unknown("course family", name, [*FAMILIES, "all"])
        if name not in there and name != "all":
            raise UserError(f"nothing here about '{name}'; there is: {', '.join(there)}")
    return list(there) if not asked or "all" in asked else list(dict.fromkeys(asked))


def round_minutes(longest: float) -> list[float]:
    """3, 6, 9, ... up to the `longest` run; in larger steps if that is long."""
    step, last = 3, longest / (1 - SLACK)
    while last / step >= COLUMNS + 1:
        step *= 2
    return [float(minute) for minute in range(step, int(last) + 1, step)]


def run_table(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    return [
        {
            "run": curve.name,
            "minutes": float(curve.minutes[-1]),
            "iterations": curve.iterations,
            "steps": _whole(curve.steps[-1]),
            "steps/s": _whole(curve.steps_per_s),
        }
        for curve in curves
    ]


def _whole(value: float | None) -> int | None:
    return None if value is None or not np.isfinite(value) else round(value)


def frontier_table(
    curves: Sequence[Curve], families: Sequence[str], minutes: Sequence[float]
) -> list[dict[str, Any]]:
    """A row for each family and run; the runs of one family are together, to be compared."""
    return [
        {"family": family, "unit": FAMILIES[family].size.unit, "run": curve.name}
        | {f"{minute:g} min": curve.after(family, minute) for minute in minutes}
        | {"end": curve.after(family, float(curve.minutes[-1]))}
        for family in families
        for curve in curves
        if family in curve.frontier
    ]


def success_table(
    arms: Mapping[str, Sequence[Row]], families: Sequence[str]
) -> list[dict[str, Any]]:
    """A row for each family and size, and a column for each arm."""
    rates = {
        (row["family"], round(row["size"], 6), name): row["success"]
        for name, rows in arms.items()
        for row in rows
    }
    points = sorted({point[:2] for point in rates})
    return [
        {"family": family, "size": size, "unit": FAMILIES[family].size.unit}
        | {name: rates.get((family, size, name)) for name in arms}
        for family in families
        for where, size in points
        if where == family
    ]
