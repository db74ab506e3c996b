"""Handles the signals that ask a program to end: one line, and an exit code of their own.

Ctrl-C is SIGINT, `kill` and schedulers send SIGTERM, a terminal that is closed sends SIGHUP. Until
there is anything to put in order, a program just leaves; later it unwinds, so that screens and
files are left in order; a training run saves first (`runs/interrupt.py`).
"""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from swap.streams import write_stderr

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object]


class StopSignal(KeyboardInterrupt):
    """A signal has asked for the end."""

    def __init__(self, sig: int) -> None:
        super().__init__(f"signal {sig}")
        self.signal = sig


def exit_code(sig: int) -> int:
    """As shells have it: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + sig


def stop_signals() -> list[signal.Signals]:
    """Those that shall end this program; `nohup` has SIGHUP ignored, and so it stays."""
    return [
        sig for sig in SIGNALS if sig != signal.SIGHUP or signal.getsignal(sig) != signal.SIG_IGN
    ]


def handle_stop_signals(handler: Handler | signal.Handlers) -> None:
    for sig in stop_signals():
        signal.signal(sig, handler)


def exit_now(sig: int, frame: FrameType | None = None) -> NoReturn:
    """End here and now. Nothing is unwound: in the middle of an import nobody can be relied on to
    pass an exception on."""
    if os.environ.get("RANK", "0") == "0":  # of several processes one speaks
        write_stderr("swap: stopped")
    os._exit(exit_code(sig))


class RaiseOnSignal:
    """The first signal is raised as `StopSignal`; another one leaves at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The one that came: some library may have made another error of it."""

    def __call__(self, sig: int, frame: FrameType | None) -> None:
        self.signal = sig
        handle_stop_signals(exit_now)
        raise StopSignal(sig)
