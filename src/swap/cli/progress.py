"""Shows progress on stderr: a live line on a terminal, a plain line now and then in a pipe."""

import time

from rich.console import Console
from rich.live import Live
from rich.text import Text

from swap.evaluate.success import Progress
from swap.runs.console import PLAIN_EVERY_S, clock


class ProgressLine:
    """Call it with every `Progress`; use it as a context manager around the work."""

    def __init__(self, console: Console | None = None, every_s: float = PLAIN_EVERY_S) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self.every_s, self.start_s = every_s, time.monotonic()
        self.next_s = self.start_s + every_s
        self.last: Progress | None = None
        live = Live(get_renderable=self.render, console=self.console, transient=True)
        self.live = live if self.console.is_terminal else None

    def __call__(self, progress: Progress) -> None:
        self.last, now = progress, time.monotonic()
        if self.live is None and now >= self.next_s:
            self.next_s = now + self.every_s
            self.console.print(self.render(), soft_wrap=True)

    def __enter__(self) -> "ProgressLine":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.live is not None:
            self.live.stop()

    def render(self) -> Text:
        gone_s = time.monotonic() - self.start_s
        if self.last is None:
            return Text(f"building and compiling | {clock(gone_s)}")
        return Text(line(self.last, gone_s))


def line(progress: Progress, gone_s: float) -> str:
    """`640 of 2,000 trials | 1:12 | 35% | 2:13 left`."""
    share = progress.fraction
    parts = [f"{progress.ended:,} of {progress.trials:,} trials", clock(gone_s), f"{share:.0%}"]
    if share > 0:
        parts.append(f"{clock(gone_s * (1 - share) / share)} left")
    return " | ".join(parts)
