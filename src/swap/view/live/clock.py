"""Keeps the simulation at real time, and measures whether it keeps up."""

import time
from collections import deque

from swap.sim import CONTROL_DT

WINDOW_S = 2.0
"""Figures are means over this long."""
LATE_S = 0.2
"""More than this is given up, not made up for."""


class RealTimeClock:
    """Call `wait` after each control step."""

    def __init__(self) -> None:
        self._due = time.perf_counter()
        self._steps: deque[tuple[float, float]] = deque()  # when, and how long it kept us busy
        self._updates: deque[float] = deque()
        self._awake = self._due

    def restart(self) -> None:
        """Starts anew after a rest; the time of the rest is not made up for."""
        self._due = self._awake = time.perf_counter()
        self._steps.clear()
        self._updates.clear()

    def wait(self, rate: float) -> None:
        """Waits until the next step is due; at `rate` 0.5 time goes half as fast."""
        now = time.perf_counter()
        self._steps.append((now, now - self._awake))
        while now - self._steps[0][0] > WINDOW_S:
            self._steps.popleft()
        self._due = max(self._due + CONTROL_DT / rate, now - LATE_S)
        if self._due > now:
            time.sleep(self._due - now)
        self._awake = time.perf_counter()

    def sent(self) -> None:
        """Counts an update that was sent to the page."""
        self._updates.append(time.perf_counter())
        while self._updates[-1] - self._updates[0] > WINDOW_S:
            self._updates.popleft()

    @property
    def speed(self) -> float:
        """Simulated time over real time."""
        return self._rate_of(len(self._steps)) * CONTROL_DT

    @property
    def updates_per_s(self) -> float:
        return self._rate_of(len(self._updates))

    @property
    def reserve(self) -> float:
        """How many times as fast it could go: simulated time over time spent working."""
        busy = sum(spent for _, spent in self._steps)
        return len(self._steps) * CONTROL_DT / busy if busy else 0.0

    def _rate_of(self, count: int) -> float:
        if len(self._steps) < 2:
            return 0.0
        span = self._steps[-1][0] - self._steps[0][0]
        return count / (span * len(self._steps) / (len(self._steps) - 1))
