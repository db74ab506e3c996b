"""Shows the speed and metrics of a run: on a live board, or as plain lines for a log."""

import re
import sys
import time
from collections.abc import Mapping
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from swap.runs.run_clock import RunClock
from swap.streams import resilient, write_stderr

PLAIN_EVERY_S = 10.0
WIDE, BESIDE = 100, 48
"""On terminals at least this wide, the families are shown beside the other figures, in this many
columns."""
STOPPING = "stopping after this iteration, then saving; once more to stop at once"


class Board(Protocol):
    """Where a run shows its figures and messages."""

    def say(self, line: str) -> None:
        """Prints a line that stays."""

    def show(
        self, run_clock: RunClock, metrics: Mapping[str, float], faults: Mapping[str, int]
    ) -> None:
        """Shows the figures of the last iteration."""

    def stopping(self) -> None:
        """Called by a signal handler: the run will end after this iteration."""

    def __enter__(self) -> "Board": ...

    def __exit__(self, *error: object) -> None: ...


def board(title: str) -> Board:
    """Returns the board that suits the output: a terminal or a log."""
    console = Console(file=resilient(sys.stdout), highlight=False)
    return LiveBoard(title, console) if console.is_terminal else PlainBoard()


class PlainBoard:
    """For logs and pipes: the first iteration, then a short line every ten seconds."""

    def __init__(self, every_s: float = PLAIN_EVERY_S) -> None:
        self.every_s, self.next_s = every_s, 0.0

    def say(self, line: str) -> None:
        print(line, file=resilient(sys.stdout), flush=True)

    def show(
        self, run_clock: RunClock, metrics: Mapping[str, float], faults: Mapping[str, int]
    ) -> None:
        now = time.monotonic()
        if now >= self.next_s:
            self.next_s = now + self.every_s
            self.say(plain_line(run_clock, metrics, faults))

    def stopping(self) -> None:
        write_stderr(STOPPING)

    def __enter__(self) -> "PlainBoard":
        return self

    def __exit__(self, *error: object) -> None:
        pass


class LiveBoard:
    """For terminals: one block, redrawn in place four times a second."""

    def __init__(self, title: str, console: Console) -> None:
        self.title, self.console, self.note = title, console, ""
        self.run_clock: RunClock | None = None
        # A metric that is absent for an iteration keeps its place and last value, so that rows do
        # not jump.
        self.metrics: dict[str, float] = {}
        self.faults: Mapping[str, int] = {}
        self.live = Live(
            get_renderable=self.render, console=console, refresh_per_second=4, transient=False
        )

    def say(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)  # a path stays in one piece

    def show(
        self, run_clock: RunClock, metrics: Mapping[str, float], faults: Mapping[str, int]
    ) -> None:
        self.run_clock, self.faults = run_clock, dict(faults)
        self.metrics = self.metrics | dict(metrics)  # a new dict: the drawing thread reads the old

    def stopping(self) -> None:
        self.note = STOPPING

    def __enter__(self) -> "LiveBoard":
        self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()

    def render(self) -> RenderableType:
        width = self.console.width
        if self.run_clock is None:
            wait = Text(f"{self.title}: building and compiling, the first iteration takes longest")
            return Group(wait, *self._notes())
        metrics = self.metrics
        families = family_table(metrics, width)
        beside = width >= WIDE and families.row_count > 0
        room = width - BESIDE if beside else width
        groups: list[RenderableType] = [
            grid(group, values, room)
            for group, values in grouped(metrics).items()
            if group not in ("", "success", "frontier", "guard")
        ]
        parts: list[RenderableType] = [head(self.title, self.run_clock, metrics, width)]
        if beside:
            both = Table.grid(padding=(0, 2, 0, 0))
            both.add_row(families, Group(*groups))
            parts.append(both)
        else:
            parts += [families, *groups] if families.row_count else groups
        if self.faults:
            counts = ", ".join(f"{name} {n:,}" for name, n in self.faults.items())
            parts.append(Text(f"guards: {counts}", style="yellow"))
        return Group(*parts, *self._notes())

    def _notes(self) -> list[RenderableType]:
        return [Text(self.note, style="bold")] if self.note else []


def head(
    title: str, run_clock: RunClock, metrics: Mapping[str, float], width: int
) -> RenderableType:
    """Title, progress bar and time left; below, how far the run is."""
    share, left = run_clock.fraction, run_clock.left_s
    top = Table.grid(padding=(0, 1), expand=True)
    top.add_column(no_wrap=True, overflow="ellipsis", max_width=max(width // 3, 8))
    top.add_column(ratio=1)
    top.add_column(no_wrap=True, justify="right")
    bar = ProgressBar(total=1.0, completed=share) if share is not None else Text("no end set")
    end = f"{share:4.0%}  {clock(left)} left" if share is not None and left is not None else ""
    top.add_row(Text(title, style="bold"), bar, end)
    where = f"iteration {run_clock.iteration:,}"
    where += f" of {run_clock.goal_iterations:,}" if run_clock.goal_iterations is not None else ""
    where += f" | {clock(run_clock.elapsed_s)}"
    where += f" | {short(metrics.get('steps', 0))} steps"
    where += f" | {short(run_clock.steps_per_s)} steps/s" if run_clock.steps_per_s else ""
    return Group(top, Text(where))


def family_table(metrics: Mapping[str, float], width: int) -> Table:
    """Success and frontier, one row per family."""
    groups = grouped(metrics)
    success, frontier = groups.get("success", {}), groups.get("frontier", {})
    table = Table(box=None, padding=(0, 2, 0, 0))
    # On a narrow terminal the names are cut, not the figures.
    table.add_column("family", no_wrap=True, max_width=max(min(width - 21, 24), 4))
    for column in ("success", "frontier"):
        table.add_column(column, justify="right", no_wrap=True)
    for name in dict.fromkeys([*success, *frontier]):
        table.add_row(
            name,
            f"{success[name]:.0%}" if name in success else "-",
            f"{frontier[name]:.2f}" if name in frontier else "-",
        )
    return table


def grid(group: str, values: Mapping[str, float], width: int) -> Table:
    """Names and values of one group in as many columns as fit."""
    longest = min(max(map(len, values)), 24)
    columns = max(width // (longest + 12), 1)
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False, title=group)
    table.title_justify, table.title_style = "left", "bold"
    for _ in range(columns):
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=24)
        table.add_column(no_wrap=True, justify="right", width=9)
    cells = [cell for name, value in values.items() for cell in (name, f"{value:.3g}")]
    for start in range(0, len(cells), 2 * columns):
        table.add_row(*cells[start : start + 2 * columns])
    return table


def plain_line(run_clock: RunClock, metrics: Mapping[str, float], faults: Mapping[str, int]) -> str:
    """One short line for a log."""
    groups = grouped(metrics)
    parts = [
        f"iteration {run_clock.iteration}",
        clock(run_clock.elapsed_s),
        f"{short(metrics.get('steps', 0))} steps",
    ]
    if run_clock.steps_per_s:  # unknown after the first iteration, which compiles
        parts.append(f"{short(run_clock.steps_per_s)} steps/s")
    if success := groups.get("success"):
        parts.append("success " + " ".join(f"{name} {v:.0%}" for name, v in success.items()))
    if frontier := groups.get("frontier"):
        parts.append("frontier " + " ".join(f"{name} {v:.2f}" for name, v in frontier.items()))
    if faults:
        parts.append("guards " + " ".join(f"{name} {n}" for name, n in faults.items()))
    if run_clock.left_s is not None:
        parts.append(f"{clock(run_clock.left_s)} left")
    return " | ".join(parts)


def grouped(metrics: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """`reward/lin_vel` -> groups["reward"]["lin_vel"]; names without a slash under ""."""
    groups: dict[str, dict[str, float]] = {}
    for name, value in metrics.items():
        group, slash, rest = name.partition("/")
        groups.setdefault(group if slash else "", {})[rest or group] = value
    return groups


def clock(seconds: float) -> str:
    """75 -> 1:15, 3675 -> 1:01:15."""
    minutes, s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{s:02d}" if hours else f"{minutes}:{s:02d}"


def short(count: float) -> str:
    """123456 -> 123 k."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if count >= size:
            return re.sub(r"\.0$", "", f"{count / size:.3g}") + unit
    return f"{count:.0f}"
