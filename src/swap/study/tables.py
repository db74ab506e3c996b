"""Makes the tables of a study: rows of named cells.

An interval is over seeds (see `swap.evaluate.statistics`), never over trials.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from swap.evaluate.statistics import (
    Interval,
    bootstrap,
    interquartile_mean,
    probability_of_improvement,
)
from swap.study.plan import Folder
from swap.study.results import (
    Point,
    Results,
    frontier_at,
    reached_families,
    steps_to,
    unit_of,
)
from swap.study.status import steps_done
from swap.study.study import Run

Row = dict[str, Any]
PARTS = (0.25, 0.5, 0.75, 1.0)
"""Parts of the budget after which frontiers are compared."""


def runs_table(results: Results, folder: Folder) -> list[Row]:
    """A row for each run: whether it is done, how long it took, what is missing."""
    return [_run_row(results, folder, run) for run in results.study.runs]


def _run_row(results: Results, folder: Folder, run: Run) -> Row:
    curve = results.curves.get(run)
    missing = [name for name, files in results.measured.items() if run not in files]
    if curve is None:
        steps = steps_done(folder, run)
        state = f"stopped at {steps / 1e6:.3g} M steps" if steps else "missing"
        return {"run": run.name, "state": state, "not measured": ", ".join(missing)}
    return {
        "run": run.name,
        "state": "done",
        "M steps": f"{curve.steps[-1] / 1e6:.4g}",
        "minutes": f"{curve.minutes[-1]:.3g}",
        "not measured": ", ".join(missing),
    }


def success_table(results: Results) -> list[Row]:
    """A row for each point and a column for each arm: the interquartile mean over seeds."""
    rows = []
    for point in results.points():
        scores = results.scores([point])
        rows.append(
            _place(point)
            | {"size": f"{point.size:.3g} {point.unit}"}
            | {arm: percent(bootstrap(interquartile_mean, x), len(x)) for arm, x in scores.items()}
        )
    return rows


def summary_table(results: Results) -> list[Row]:
    """A row for each side, family and speed, all sizes together; a column for each arm, of the
    seeds that were measured at all sizes."""
    rows = []
    for place, group in groupby(results.points(), key=lambda p: tuple(_place(p).items())):
        points = list(group)
        scores = results.scores(points)
        row = dict(place)
        for arm in results.study.arms:
            most = max(len(results.scores([p]).get(arm, ())) for p in points)
            x = scores.get(arm, np.empty((0, len(points))))
            if len(x):
                row[arm] = percent(bootstrap(interquartile_mean, x), len(x))
            if len(x) < most:
                row[arm] = f"{row.get(arm, '')} {len(x)} of {most} seeds have all sizes".strip()
        rows.append(row)
    return rows


def improvement_table(results: Results) -> list[Row]:
    """A row and a column for each arm: the probability that a seed of the row's arm is better than
    one of the column's, averaged over sizes."""
    rows = []
    for place, points in groupby(results.points(), key=lambda p: tuple(_place(p).items())):
        scores = results.scores(list(points))
        for arm, ours in scores.items() if len(scores) > 1 else ():
            row = dict(place) | {"arm": arm}
            for other, theirs in scores.items():
                if other == arm:
                    row[f"> {other}"] = "-"
                    continue
                found = bootstrap(probability_of_improvement, ours, theirs)
                row[f"> {other}"] = percent(found, min(len(ours), len(theirs)))
            rows.append(row)
    return rows


def _place(point: Point) -> Row:
    row = {"side": point.side, "family": point.family, "m/s": f"{point.speed:g}"}
    return row | ({"under": point.under} if point.under else {})


def frontier_table(results: Results) -> list[Row]:
    """A row for each family and arm, a column for each part of the budget: the mean of the frontier
    over seeds, the lowest and the highest."""
    rows = []
    for family in reached_families(results):
        for arm in results.study.arms:
            mine = [c for r, c in results.curves.items() if r.arm == arm and family in c.frontier]
            if not mine:
                continue
            row: Row = {"family": family, "arm": arm, "seeds": len(mine)}
            for part in PARTS:
                steps = np.array(part * results.study.steps)
                found = [float(frontier_at(curve, family, steps)) for curve in mine]
                row[f"{steps / 1e6:g} M steps"] = (
                    f"{np.mean(found):.2f} ({min(found):.2f} to {max(found):.2f})"
                )
            rows.append(row)
    return rows


def reach_table(results: Results) -> list[Row]:
    """A row for each family, size and arm: after how many steps and minutes it was reached, seed by
    seed."""
    rows = []
    for family, sizes in results.study.reach.items():
        for size in sizes:
            for arm in results.study.arms:
                mine = [c for run, c in results.curves.items() if run.arm == arm]
                if not mine:
                    continue
                found = [steps_to(curve, family, size) for curve in mine]
                rows.append(
                    {
                        "family": family,
                        "size": f"{size:g} {unit_of(family)}",
                        "arm": arm,
                        "M steps": _several(found, 0, 1e-6),
                        "minutes": _several(found, 1, 1.0),
                        "reached by": f"{sum(x is not None for x in found)} of {len(found)} seeds",
                    }
                )
    return rows


def _several(found: Sequence[tuple[float, float] | None], k: int, scale: float) -> str:
    return ", ".join("-" if x is None else f"{x[k] * scale:.3g}" for x in found)


def record_table(results: Results) -> list[Row]:
    """What `swap record` measured: a row for each family and wanted share, a column for each arm,
    seed by seed."""
    rows: list[Row] = []
    for name, files in results.by_command("record"):
        places = [(row["family"], row["fraction"]) for f in files.values() for row in f["rows"]]
        for family, share in dict.fromkeys(places):
            row: Row = {"measurement": name, "family": family, "share of trials": f"{share:.0%}"}
            for run, file in files.items():
                sizes = [
                    "none" if x["size"] is None else f"{x['size']:.2f}"
                    for x in file["rows"]
                    if (x["family"], x["fraction"]) == (family, share)
                ]
                row[run.arm] = ", ".join([*([row[run.arm]] if run.arm in row else []), *sizes])
            rows.append(row)
    return rows


def gait_table(results: Results) -> list[Row]:
    """What `swap gait` measured on flat ground: a row for each speed and arm, means over seeds."""
    return _motion(results, "fallen", ("command_mps",))


def motion_table(results: Results) -> list[Row]:
    """What `swap gait --family` measured: a row for each size, speed and arm, means over seeds."""
    return _motion(results, "fore_index", ("family", "size", "command_mps"))


LABELS = {"gait", "family", "size", "unit", "command_mps", "trials", "foot"}
"""The cells of a row of `swap gait` that are not figures."""


def _motion(results: Results, figure: str, places: tuple[str, ...]) -> list[Row]:
    """Rows of those in which `swap gait` has that figure, for each place, last of which is the
    speed, and arm."""
    rows: list[Row] = []
    for name, files in results.by_command("gait"):
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for run, file in files.items():
            for row in file["rows"]:
                if figure in row:
                    groups.setdefault((*(row[x] for x in places), run.arm), []).append(row)
        for (*place, arm), several in sorted(groups.items()):
            *where, speed = place
            labels: Row = dict(zip(places, where, strict=False)) | {"m/s": f"{speed:g}"}
            if "size" in labels:
                labels["size"] = f"{labels['size']:g} m"
            # What an earlier version of swap did not measure of every seed is left out.
            asked = [x for x in several[0] if x not in LABELS and all(x in row for row in several)]
            means = {x: _mean([row[x] for row in several]) for x in asked}
            rows.append({"measurement": name, **labels, "arm": arm, "seeds": len(several), **means})
    return rows


def reconstruction_table(results: Results) -> list[Row]:
    """What `swap reconstruct` measured: a row for each side, kind of sequence and arm, in
    metres."""
    rows: list[Row] = []
    for name, files in results.by_command("reconstruct"):
        for arm in results.study.arms:
            mine = [file for run, file in files.items() if run.arm == arm]
            for k, labels in enumerate(mine[0]["facts"]["mean"] if mine else []):
                errors = [file["facts"]["mean"][k]["error_m"] for file in mine]
                gaps = [file["facts"]["mirror_gap_m"] for file in mine]
                rows.append(
                    {"measurement": name, "arm": arm, "seeds": len(mine), "side": labels["side"]}
                    | {"sequences": labels["sequences"], "error, m": _mean(errors)}
                    | {"largest gap to the mirror image, m": f"{max(gaps):.3g}"}
                )
    return rows


def mirrored_table(results: Results) -> list[Row]:
    """What `swap check model --trials` measured: a row for each family and arm, means over
    seeds."""
    rows: list[Row] = []
    for name, files in results.by_command("check model"):
        for arm in results.study.arms:
            mine = [file for run, file in files.items() if run.arm == arm]
            tried = [row for file in mine for row in file["rows"] if "same end" in row]
            for family in dict.fromkeys(row["family"] for row in tried):
                some = [row for row in tried if row["family"] == family]
                labels = {"measurement": name, "family": family, "arm": arm, "seeds": len(some)}
                labels |= {"pairs": sum(row["pairs"] for row in some)}
                asked = ("success", "success, mirrored", "same end", "5 cm apart")
                rows.append(labels | {x: _mean([row[x] for row in some]) for x in asked})
    return rows


def _mean(values: Sequence[float | None]) -> str:
    """The mean over seeds; where some have no value, how many have one."""
    there = [x for x in values if x is not None]
    if not there:
        return "-"
    some = "" if len(there) == len(values) else f" ({len(there)} of {len(values)})"
    return f"{np.mean(there):.3g}{some}"


def percent(found: Interval, seeds: int) -> str:
    """`97.5 (96.1 to 98.9)`; one seed has no interval."""
    if seeds < 2:
        return f"{100 * found.value:.1f} (1 seed)"
    return f"{100 * found.value:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def markdown(rows: Sequence[Row]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[str(row.get(column, "-") or "-") for column in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
