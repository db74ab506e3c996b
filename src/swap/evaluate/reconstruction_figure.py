"""Draws the results of `swap reconstruct`: the error by tick, and maps of it by pixel."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swap.evaluate.figures import STYLE, WIDTH_IN, arm_styles, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Measured = Mapping[str, Any]
"""The contents of a file of `swap reconstruct --json`."""
PANELS = (
    ("robots' own sequences", ("left", "as they were"), ("right", "as they were")),
    ("the left side's sequences", ("left", "as they were"), ("left", "mirrored")),
)
"""The title of a panel; then the side and the sequences that are drawn solid, and those that are
dashed."""
MAPS = {
    "left": ("left", "straight"),
    "right": ("right", "straight"),
    "left, mirrored": ("left", "mirrored"),
}
"""The title of a column of maps; then the side and the sequences it shows."""


def reconstruction_figure(arms: Mapping[str, Sequence[Measured]]) -> "Figure":
    """Draws arms by name, each with one file per seed: their mean, and the range over seeds."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        heights = [3.0, 0.5 + 1.8 * len(arms)]
        figure = Figure(figsize=(WIDTH_IN, sum(heights)), layout="constrained")
        above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
        panels: dict[str, Axes] = {}
        for k, (title, solid, dashed) in enumerate(PANELS):
            panels[title] = axes = above.add_subplot(1, 2, k + 1)
            axes.set_title(title)
            axes.set_xlabel("tick")
            axes.set_ylabel("" if k else "|decoded - clean|, m")
            for name, look in arm_styles(arms).items():
                _draw(axes, arms[name], solid, name, look)
                _draw(axes, arms[name], dashed, "_", {**look, "linestyle": "--"})
        highest = max(axes.get_ylim()[1] for axes in panels.values())
        for axes in panels.values():
            axes.set_ylim(0, highest)
        legend_above(above, panels, "solid: left, as they were; dashed: right, or mirrored")
        _draw_maps(below, arms)
    return figure


def _draw(
    axes: "Axes",
    files: Sequence[Measured],
    what: tuple[str, str],
    label: str,
    look: Mapping[str, Any],
) -> None:
    """Draws a line up to the tick at which fewer than half of a file's trials are left."""
    curves = []
    for file in files:
        rows = [row for row in file["rows"] if (row["side"], row["sequences"]) == what]
        most = max(row["trials"] for row in rows)
        curves.append({row["tick"]: row for row in rows if 2 * row["trials"] >= most})
    ticks = sorted(set.intersection(*(set(curve) for curve in curves)))
    values = np.array([[curve[t]["error_m"] for t in ticks] for curve in curves])
    if len(curves) > 1:
        low, high = values.min(0), values.max(0)
    else:  # for one robot, the interval over its trials
        low, high = (np.array([curves[0][t][key] for t in ticks]) for key in ("low", "high"))
    axes.fill_between(ticks, low, high, color=look["color"], alpha=0.18, linewidth=0)
    axes.plot(ticks, values.mean(0), label=label, **look)


def _draw_maps(figure: Any, arms: Mapping[str, Sequence[Measured]]) -> None:
    """Draws one row of maps for each arm, all on the same scale. Maps of mirrored sequences are
    stored mirrored back."""
    maps = {
        name: [np.mean([_map(file, *where) for file in files], 0) for where in MAPS.values()]
        for name, files in arms.items()
    }
    most = max(float(x.max()) for row in maps.values() for x in row)
    axes = figure.subplots(len(arms), len(MAPS), squeeze=False)
    for places, (name, row) in zip(axes, maps.items(), strict=True):
        for place, column, x in zip(places, MAPS, row, strict=True):
            shown = place.imshow(x, vmin=0, vmax=most, cmap="magma")
            place.set_title(column if name == next(iter(arms)) else "", fontweight="normal")
            place.set_ylabel(name if column == "left" else "")
            place.grid(False)
            place.set(xticks=[], yticks=[])
            place.spines[:].set_visible(False)
    figure.colorbar(shown, ax=axes, label="mean error, m", shrink=0.6, aspect=40)


def _map(file: Measured, side: str, sequences: str) -> np.ndarray:
    lines = file["facts"]["maps_mm"][side][sequences]
    return np.array([line.split() for line in lines], float) / 1000
