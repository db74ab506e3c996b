"""Lets a signal end a run after its iteration, so that it saves first."""

import contextlib
import signal
import threading
import time
from types import FrameType
from typing import Any, Protocol

from swap.signals import stop_signals

ECHO_S = 0.2
"""A second signal within this time counts as the first: `timeout` and other launchers send theirs
to a process and to its group. Nobody presses Ctrl-C twice in that time."""


class Stoppable(Protocol):
    def stopping(self) -> None: ...


class SilentBoard:
    """Shows nothing at a first signal."""

    def stopping(self) -> None:
        pass


class Interrupt:
    """SIGINT, SIGTERM and SIGHUP ask for an end after this iteration; a second one ends at once."""

    def __init__(self, board: Stoppable) -> None:
        self.board = board
        self.signal: int | None = None
        """The signal that came, if any."""
        self.came_s = 0.0
        self.before: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        return self.signal is not None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():  # Python runs handlers only there
            self.before = {sig: signal.signal(sig, self._ask) for sig in stop_signals()}
        return self

    def __exit__(self, *error: object) -> None:
        self._release()

    def _ask(self, sig: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self.came_s = sig, now
            with contextlib.suppress(OSError, ValueError):  # the reader of the output may be gone
                self.board.stopping()
        elif now - self.came_s > ECHO_S:
            self._release()
            signal.raise_signal(sig)

    def _release(self) -> None:
        for sig, handler in self.before.items():
            signal.signal(sig, handler)
        self.before = {}
