"""Draws the figures of a study: what the arms can do, and how they learned."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swap.evaluate.curves import Curve
from swap.evaluate.figures import STYLE, WIDTH_IN, arm_styles, legend_above
from swap.evaluate.reconstruction_figure import reconstruction_figure
from swap.evaluate.statistics import bootstrap, interquartile_mean
from swap.study.results import Point, Results, frontier_at, reached_families, unit_of
from swap.study.study import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = 200
"""Number of points at which learning curves of several seeds are compared."""
PANEL_IN = 2.4


def success_figure(results: Results) -> "Figure | None":
    """Draws a row of panels for each side, a column for each family, and a line for each arm; bands
    are over seeds."""
    points = results.points()
    if not points:
        return None
    sides = list(dict.fromkeys((p.side, p.under) for p in points))
    families = list(dict.fromkeys(p.family for p in points))
    labels = _labels(results, results.success)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        size = WIDTH_IN, 0.5 + PANEL_IN * len(sides)
        figure, panels = Figure(figsize=size, layout="constrained"), {}
        for i, (side, under) in enumerate(sides):
            for j, family in enumerate(families):
                k = i * len(families) + j
                axes = figure.add_subplot(len(sides), len(families), k + 1)
                panels[f"{side} {under} {family}"] = axes
                high = "" if side == "both" else f"\nhigh on the {side}"
                axes.set_title(family.replace("_", " ") + high + f"\n{under}" * bool(under))
                mine = [p for p in points if (p.side, p.under, p.family) == (side, under, family)]
                _success_panel(axes, results, mine, labels)
                axes.set_ylabel("" if j else "success")
        legend_above(figure, panels)
    return figure


def _labels(results: Results, runs: Iterable[Run]) -> dict[str, str]:
    """Each arm's name in the legend, with the number of its seeds where some are missing."""
    seeds, whole = Counter(run.arm for run in runs), len(results.study.seeds)

    def label(arm: str) -> str:
        n = seeds[arm]
        return (
            arm if n == whole else f"{arm} ({n} seed{'s' * (n > 1)})" if n else f"{arm} (missing)"
        )

    return {arm: label(arm) for arm in results.study.arms}


def _success_panel(
    axes: "Axes", results: Results, points: Sequence[Point], labels: Mapping[str, str]
) -> None:
    for arm, look in arm_styles(results.study.arms).items():
        there = [(p, results.scores([p]).get(arm)) for p in points]
        found = [(p.size, bootstrap(interquartile_mean, x)) for p, x in there if x is not None]
        x, value, low, high = np.array([(size, *y) for size, y in found] or np.empty((0, 4))).T
        axes.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)
        axes.plot(x, value, label=labels[arm], marker="o", markersize=3.5, **look)
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel(f"size, {points[0].unit}" if points else "")


def learning_figure(results: Results) -> "Figure | None":
    """Draws the frontier against control steps: the mean over seeds, and a band from the lowest to
    the highest."""
    families = reached_families(results)
    if not families:
        return None
    labels = _labels(results, results.curves)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure, panels = Figure(figsize=(WIDTH_IN, 0.5 + PANEL_IN), layout="constrained"), {}
        for j, family in enumerate(families):
            panels[family] = axes = figure.add_subplot(1, len(families), j + 1)
            axes.set_title(family.replace("_", " "))
            for arm, look in arm_styles(results.study.arms).items():
                mine = [c for run, c in results.curves.items() if run.arm == arm]
                seen = [c for c in mine if family in c.frontier]
                _learning_line(axes, seen, family, labels[arm], look)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("M steps")
            axes.set_ylabel("" if j else f"frontier, {unit_of(family)}")
        legend_above(figure, panels)
    return figure


def _learning_line(axes: "Axes", curves: list[Curve], family: str, label: str, look: Any) -> None:
    if not curves:
        axes.plot([], [], label=label, **look)
        return
    steps = np.linspace(0, min(float(curve.steps[-1]) for curve in curves), GRID)
    every = np.array([frontier_at(curve, family, steps) for curve in curves])
    axes.fill_between(
        steps / 1e6, every.min(0), every.max(0), color=look["color"], alpha=0.18, linewidth=0
    )
    axes.plot(steps / 1e6, every.mean(0), label=label, **look)


def reconstruction_figures(results: Results) -> dict[str, "Figure"]:
    """The figures by name of the measurement."""
    out = {}
    for name, files in results.by_command("reconstruct"):
        by_arm = {arm: [f for r, f in files.items() if r.arm == arm] for arm in results.study.arms}
        out[name] = reconstruction_figure(
            {arm: several for arm, several in by_arm.items() if several}
        )
    return out
