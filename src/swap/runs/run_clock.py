"""Measures a run's speed and progress, estimates its total steps, and decides when it stops."""

import time
from collections import deque
from collections.abc import Callable

RECENT = 30
"""Iterations over which speed is measured: the first ones compile and would spoil a mean."""


FORECAST_EVERY_S = 60.0
"""How often the total steps are estimated, if minutes are the goal; the first time after this time,
or after a quarter of a shorter run, when everything is compiled."""


class RunClock:
    """Wall time over all sittings of a run, and its goals: minutes, iterations, control steps, any
    of them or none."""

    def __init__(
        self,
        minutes: float | None,
        iterations: int | None,
        steps: float | None = None,
        *,
        spent_s: float = 0.0,
        iteration: int = 0,
        done_steps: float = 0.0,
        started_s: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.goal_s = None if minutes is None else 60.0 * minutes
        self.goal_iterations, self.iteration, self.now = iterations, iteration, now
        self.goal_steps, self.steps = steps, done_steps
        self.start_s = (now() if started_s is None else started_s) - spent_s
        self.save_s = 0.0
        self.ticks: deque[tuple[float, float]] = deque(maxlen=RECENT + 1)
        wait_s = FORECAST_EVERY_S if self.goal_s is None else min(FORECAST_EVERY_S, self.goal_s / 4)
        self.forecast_s = self.elapsed_s + wait_s

    @property
    def elapsed_s(self) -> float:
        """Wall seconds of this run, earlier sittings included."""
        return self.now() - self.start_s

    def tick(self, iteration: int, steps: float) -> None:
        """Counts an iteration; `steps` is the total since the beginning of the run."""
        self.iteration, self.steps = iteration, steps
        self.ticks.append((self.elapsed_s, steps))

    def saved(self, took_s: float) -> None:
        self.save_s = max(self.save_s, took_s)

    def forecast(self) -> float | None:
        """Control steps that the run will have in all; None if that is unknown, or was estimated
        less than a minute ago."""
        known = [] if self.goal_steps is None else [self.goal_steps]
        if self.goal_iterations is not None and self.steps:
            known.append(self.steps / self.iteration * self.goal_iterations)
        if self.goal_s is not None:
            if self.elapsed_s < self.forecast_s or not self.steps_per_s:
                return None
            self.forecast_s = self.elapsed_s + FORECAST_EVERY_S
            left_s = max(0.0, self.goal_s - self.elapsed_s)
            known.append(self.steps + left_s * self.steps_per_s)
        return min(known) if known else None

    @property
    def iteration_s(self) -> float:
        """The mean time of recent iterations; 0 until two are done, because the first one
        compiles."""
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
        if self.goal_steps is not None and self.steps >= self.goal_steps:
            return True
        # Some slack: the next iteration may be slow, and the disk busy at the last save.
        needed = 1.2 * self.iteration_s + 2.0 * self.save_s
        return self.goal_s is not None and self.elapsed_s + needed > self.goal_s

    @property
    def fraction(self) -> float | None:
        """The fraction of the nearest goal that is done, 0 to 1; None without a goal."""
        shares = []
        if self.goal_s is not None:
            shares.append(self.elapsed_s / max(self.goal_s, 1e-9))
        if self.goal_iterations is not None:
            shares.append(self.iteration / max(self.goal_iterations, 1))
        if self.goal_steps is not None:
            shares.append(self.steps / max(self.goal_steps, 1))
        return min(max(shares), 1.0) if shares else None

    @property
    def left_s(self) -> float | None:
        """Seconds to the nearest goal; None without a goal, or before that can be estimated."""
        left = []
        if self.goal_s is not None:
            left.append(self.goal_s - self.elapsed_s)
        if self.goal_iterations is not None and self.iteration_s > 0:
            left.append((self.goal_iterations - self.iteration) * self.iteration_s)
        if self.goal_steps is not None and self.steps_per_s > 0:
            left.append((self.goal_steps - self.steps) / self.steps_per_s)
        return max(min(left), 0.0) if left else None
