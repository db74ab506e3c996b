"""Draws curves and measured points: one panel for each family, one line for each run.

It does not use pyplot, which has windows and global state. matplotlib is imported only when
something is drawn, because that takes as long as the rest of a command.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swap.caches import MATPLOTLIB, prepare
from swap.courses import FAMILIES
from swap.errors import UserError
from swap.evaluate.curves import Curve, Row
from swap.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ENDINGS = (".png", ".svg")
WIDTH_IN, DPI = 8.0, 150
"""1200 pixels wide, so that it is sharp where a README shows 800."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which colour-blind people can distinguish; further lines are dashed."""
DASHES = ("-", "--", ":", "-.")
ARMS = ("", "wide", "no-eq-policy", "no-eq", "no-eq-matched", "symloss", "augment")
"""The arms of the ablation without the name of their family (`swap`, `tiny`,
`tiny-camera`), in the order of their colours."""
INK, PALE = "#404040", "#e0e0e0"
TITLE_PT = 10.5
STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": TITLE_PT,
    "axes.titleweight": "bold",
    "grid.color": PALE,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
}
LETTER = 0.085
"""Height of a line of text, as a share of a panel's height."""


def drawable(path: Path | None) -> None:
    """Refuses an unknown kind of picture before the work starts, not after it."""
    if path is None:
        return
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f"cannot draw '{path}'; use a name that ends in {' or '.join(ENDINGS)}")
    prepare(MATPLOTLIB)


def write(figure: "Figure", path: Path) -> None:
    with atomic_write(path) as file:
        figure.savefig(file, dpi=DPI, facecolor="white")


def frontier_figure(curves: Sequence[Curve], families: Sequence[str]) -> "Figure":
    """The frontier against minutes of training."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, panels = _panels(families)
        for place, (family, axes) in enumerate(panels.items()):
            for k, curve in enumerate(curves):
                values = curve.frontier.get(family, np.full_like(curve.minutes, np.nan))
                axes.plot(curve.minutes, values, label=curve.name, **line_style(k))
            axes.set_xlim(0, max(float(curve.minutes[-1]) for curve in curves))
            axes.set_ylim(bottom=0)
            axes.set_xlabel("minutes" if place + _columns(len(families)) >= len(families) else "")
            axes.set_ylabel(f"frontier, {FAMILIES[family].size.unit}")
        # Names stand beside the lines if there is room, and a colour for each.
        if len(families) <= 2 and len(curves) <= len(COLOURS):
            for axes in panels.values():
                _name_ends(axes)
        else:
            legend_above(figure, panels)
    return figure


def success_figure(
    arms: Mapping[str, Sequence[Row]], families: Sequence[str], title: str = ""
) -> "Figure":
    """Success against size with its 95 % interval."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, panels = _panels(families)
        for place, (family, axes) in enumerate(panels.items()):
            span = FAMILIES[family].size
            for k, (name, rows) in enumerate(arms.items()):
                mine = sorted((r for r in rows if r["family"] == family), key=lambda r: r["size"])
                success, low, high = (
                    np.array([row[key] for row in mine]) for key in ("success", "low", "high")
                )
                look = line_style(k)
                if span.low == span.high:  # one size: the arms side by side
                    x = np.full(len(mine), float(k))
                    axes.vlines(x, low, high, color=look["color"])
                else:
                    x = np.array([row["size"] for row in mine])
                    axes.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)
                axes.plot(x, success, label=name, marker="o", markersize=3.5, **look)
            if span.low == span.high:
                axes.set_xlim(-1, len(arms))
                axes.set_xticks([])
            axes.set_xlabel("one size" if span.low == span.high else f"size, {span.unit}")
            axes.set_ylim(-0.04, 1.04)  # room for the dots at 0 and 1
            axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
            if place % _columns(len(families)) == 0:
                axes.set_ylabel("success")
            else:
                axes.tick_params(axis="y", length=0, labelleft=False)
        if len(arms) > 1:
            legend_above(figure, panels, title)
        else:
            title = title or next(iter(arms))
            figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_PT)
    return figure


def _panels(families: Sequence[str]) -> tuple["Figure", dict[str, "Axes"]]:
    from matplotlib.figure import Figure

    columns = _columns(len(families))
    rows = -(-len(families) // columns)
    height_in = 0.4 + rows * (2.0 if columns == 3 else 2.6)
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    panels = {}
    for k, family in enumerate(families):
        panels[family] = figure.add_subplot(rows, columns, k + 1)
        panels[family].set_title(family.replace("_", " "))
    return figure, panels


def _columns(panels: int) -> int:
    return 2 if panels in (2, 4) else min(panels, 3)


def arm_styles(arms: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The looks of lines by arm. An arm of the ablation has the same colour in every figure,
    whichever others stand beside it; other arms take the colours that are left, in their order."""
    names = list(arms)
    known = [re.sub("^(swap|tiny-camera|tiny)(-|$)", "", name) for name in names]
    if len(set(known)) < len(known):  # of two families
        return {name: line_style(k) for k, name in enumerate(names)}
    own = {name: ARMS.index(x) for name, x in zip(names, known, strict=True) if x in ARMS}
    left = (k for k in itertools.count() if k not in own.values())
    return {name: line_style(own[name] if name in own else next(left)) for name in names}


def line_style(k: int) -> dict[str, Any]:
    n = len(COLOURS)
    return {"color": COLOURS[k % n], "linestyle": DASHES[k // n % len(DASHES)]}


def legend_above(
    figure: "Figure | SubFigure", panels: Mapping[str, "Axes"], title: str = ""
) -> None:
    """Draws a legend above the panels, with `title` as its own; a title of the figure would overlap
    it."""
    lines = [
        line
        for line in next(iter(panels.values())).get_lines()
        if not str(line.get_label()).startswith("_")  # matplotlib marks lines without a name so
    ]
    names = [str(line.get_label()) for line in lines]
    columns = max(1, min(len(names), int(90 / (max(map(len, names)) + 6))))
    legend = figure.legend(
        lines, names, loc="outside upper left", ncols=columns, frameon=False, labelcolor="linecolor"
    )
    if title:
        legend.set_title(title)
        legend.get_title().set_fontsize(TITLE_PT)
        legend.set_alignment("left")


def _name_ends(axes: "Axes") -> None:
    """Writes each line's name at the right, level with its end, without overlaps."""
    low, high = axes.get_ylim()
    lines = [line for line in axes.get_lines() if np.isfinite(line.get_ydata()).any()]
    ends = [np.asarray(line.get_ydata())[np.isfinite(line.get_ydata())][-1] for line in lines]
    places = spread([(end - low) / (high - low) for end in ends], LETTER)
    for line, y in zip(lines, places, strict=True):
        axes.text(
            x=1.02,
            y=y,
            s=str(line.get_label()),
            transform=axes.transAxes,
            color=line.get_color(),
            va="center",
        )


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Moves places in [0, 1] apart as little as needed, in the same order, and below 1 if they
    fit."""
    order = np.argsort(places, kind="stable")
    out = np.asarray(places, dtype=float)[order]
    for k in range(1, len(out)):
        out[k] = max(out[k], out[k - 1] + gap)
    for k in reversed(range(len(out))):
        out[k] = min(out[k], 1.0 - gap * (len(out) - 1 - k))
    back = np.empty_like(out)
    back[order] = out
    return [float(place) for place in back]
