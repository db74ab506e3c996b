"""Time of a run: iterations and steps in; speed, share done, time left and when to stop, out."""

import time
from collections import deque
from collections.abc import Callable

RECENT = 30
"""Iterations over which speed is measured: the first ones compile and would spoil a mean."""


class Pace:
    """Wall time over all sittings of a run; its goals are minutes, iterations, both or none."""

    def __init__(
        self,
        minutes: float | None,
        iterations: int | None,
        *,
        spent_s: float = 0.0,
        iteration: int = 0,
        started_s: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.goal_s = None if minutes is None else 60.0 * minutes
        self.goal_iterations, self.iteration, self.now = iterations, iteration, now
        self.start_s = (now() if started_s is None else started_s) - spent_s
        self.save_s = 0.0
        self.ticks: deque[tuple[float, float]] = deque(maxlen=RECENT + 1)

    @property
    def elapsed_s(self) -> float:
        """Wall seconds of this run, earlier sittings included."""
        return self.now() - self.start_s

    def tick(self, iteration: int, steps: float) -> None:
        """An iteration is done; `steps` counts from the beginning of the run."""
        self.iteration = iteration
        self.ticks.append((self.elapsed_s, steps))

    def saved(self, took_s: float) -> None:
        self.save_s = max(self.save_s, took_s)

    @property
    def iteration_s(self) -> float:
        """The mean of the recent iterations; 0 until two are done, for the first one compiles."""
        return self._seconds() / max(len(self.ticks) - 1, 1)

    @property
    def steps_per_s(self) -> float:
        seconds = self._seconds()
        return (self.ticks[-1][1] - self.ticks[0][1]) / seconds if seconds > 0 else 0.0

    def _seconds(self) -> float:
        return self.ticks[-1][0] - self.ticks[0][0] if self.ticks else 0.0

    @property
    def over(self) -> bool:
        """Whether one more iteration and the last save would go beyond a goal."""
        if self.goal_iterations is not None and self.iteration >= self.goal_iterations:
            return True
        # Some slack: the next iteration may be a slow one, the last save may meet a busy disk.
        needed = 1.2 * self.iteration_s + 2.0 * self.save_s
        return self.goal_s is not None and self.elapsed_s + needed > self.goal_s

    @property
    def share(self) -> float | None:
        """How much of the nearer goal is done, 0 to 1; None without a goal."""
        shares = []
        if self.goal_s is not None:
            shares.append(self.elapsed_s / max(self.goal_s, 1e-9))
        if self.goal_iterations is not None:
            shares.append(self.iteration / max(self.goal_iterations, 1))
        return min(max(shares), 1.0) if shares else None

    @property
    def left_s(self) -> float | None:
        """Seconds to the nearer goal; None without one or before it can be told."""
        left = []
        if self.goal_s is not None:
            left.append(self.goal_s - self.elapsed_s)
        if self.goal_iterations is not None and self.iteration_s > 0:
            left.append((self.goal_iterations - self.iteration) * self.iteration_s)
        return max(min(left), 0.0) if left else None
