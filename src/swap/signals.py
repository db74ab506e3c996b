"""Handles the signals that ask a program to end, with one line and their own exit codes.

Ctrl-C is SIGINT, `kill` and schedulers send SIGTERM, a terminal that is closed sends SIGHUP. While
there is nothing to clean up, the program just exits; later it unwinds, so that screens and files
are left in order; a training run saves first (`runs/interrupt.py`).
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
    """A signal has asked the program to end."""

    def __init__(self, sig: int) -> None:
        super().__init__(f"signal {sig}")
        self.signal = sig


def exit_code(sig: int) -> int:
    """The exit code that shells use: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + sig


def stop_signals() -> list[signal.Signals]:
    """The signals that end this program; under `nohup` SIGHUP is ignored, and stays ignored."""
    return [
        sig for sig in SIGNALS if sig != signal.SIGHUP or signal.getsignal(sig) != signal.SIG_IGN
    ]


def handle_stop_signals(handler: Handler | signal.Handlers) -> None:
    for sig in stop_signals():
        signal.signal(sig, handler)


def exit_now(sig: int, frame: FrameType | None = None) -> NoReturn:
    """Exit at once without unwinding: in the middle of an import, code may swallow an exception."""
    if os.environ.get("RANK", "0") == "0":  # only one of several processes prints
        write_stderr("swap: stopped")
    os._exit(exit_code(sig))


class RaiseOnSignal:
    """Raises the first signal as `StopSignal`; a second one exits at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The signal that came; kept because a library may turn StopSignal into another error."""

    def __call__(self, sig: int, frame: FrameType | None) -> None:
        self.signal = sig
        handle_stop_signals(exit_now)
        raise StopSignal(sig)


def start_without_ctrl_c(start: Callable[[], object]) -> None:
    """Call `start` of a `multiprocessing` process such that Ctrl-C, which a terminal sends to all
    processes, does not reach it: it would print a traceback. This process has to end it."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # starting it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        start()  # it inherits what is blocked
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
