"""Runs the commands of many runs, several at once, and stops them cleanly in time."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from swap.runs.interrupt import Interrupt
from swap.study.plan import CommandLine, Folder, Kind

POLL_S = 0.2
SAVE_S = 40.0
"""Runs are told to stop this long before the time is up (or a tenth of the time, if that is less),
so that they can save, perhaps four at once on one disk."""
GRACE_S = 120.0
"""A run that has not stopped this long after it was told to is told again, which ends it at once;
its last checkpoint stays."""
STATUS_S = 60.0


class Process(Protocol):
    """The part of `subprocess.Popen` that is needed here."""

    def poll(self) -> int | None: ...

    def terminate(self) -> None: ...


Start = Callable[[CommandLine, Path], Process]
"""Starts a command, with a log file for its output, and returns the process."""


def start_process(env: Mapping[str, str]) -> Start:
    """Returns a function that starts commands in processes of their own. A Ctrl-C of the terminal
    does not reach them; the study passes it on."""

    def start(command: CommandLine, log: Path) -> Process:
        words = [sys.executable, "-m", "swap.cli.child", str(os.getpid()), *command.words]
        with open(log, "ab") as file:
            file.write(f"$ {command.line}\n".encode())
            file.flush()
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
            )

    return start


@dataclass
class Chain:
    """The commands that are left of one run."""

    commands: list[CommandLine]
    running: dict[CommandLine, Process] = field(default_factory=dict)
    failed: str | None = None

    @property
    def idle(self) -> bool:
        return bool(self.commands) and not self.running and self.failed is None

    @property
    def ready_measurements(self) -> list[CommandLine]:
        """Those that may start now: they do not need each other, but nothing else may run."""
        if self.failed or any(command.kind is not Kind.MEASURE for command in self.running):
            return []
        return [c for c in self.commands if c.kind is Kind.MEASURE and c not in self.running]


@dataclass
class Pool:
    """Runs the commands of all chains; each command is tried once."""

    folder: Folder
    chains: Sequence[Chain]
    start: Start
    at_once: int = 1
    """Runs that are worked on at the same time."""
    measure_at_once: int = 1
    """Measurements of one run at the same time."""
    minutes: float | None = None
    say: Callable[[str], None] = print
    listens: bool = True
    """Whether a signal stops the pool. False for a scheduler that handles signals itself."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    status: Callable[[Sequence[CommandLine]], str] = lambda running: ""
    """Returns the status line for the running commands, which is printed now and then."""
    stopped: str | None = field(default=None, init=False)
    """Why the pool stopped before everything was done."""
    signal: int | None = field(default=None, init=False)

    def run(self, started_s: float | None = None) -> None:
        """Runs until all is done or it is stopped; `started_s` is when the minutes began."""
        begun = self.now() if started_s is None else started_s
        told_s, next_s = 0.0, self.now() + STATUS_S
        stop_signals = Interrupt(self)
        with stop_signals if self.listens else contextlib.nullcontext(stop_signals) as interrupt:
            while True:
                self._reap()
                if self.stopped is None:
                    self.stopped = self._asked(interrupt, begun)
                    if self.stopped is not None:
                        self.say(f"{self.stopped}: stopping, and saving what runs")
                        told_s = self._tell()
                elif self.now() - told_s > GRACE_S:
                    told_s = self._tell()
                if self.stopped is None:
                    self._fill()
                if not self._running:
                    break
                if self.now() >= next_s:
                    next_s = self.now() + STATUS_S
                    self.say(self.status([c for chain in self._running for c in chain.running]))
                self.sleep(POLL_S)
            self.signal = interrupt.signal

    def stopping(self) -> None:
        """Called by `Interrupt`; the loop prints the message."""

    def stop(self) -> None:
        """Called from outside the loop: tells the running commands to save and end, and waits for
        them."""
        self.stopped = "stopped"
        told_s = self._tell()
        while self._running and self.now() - told_s < GRACE_S:
            self._reap()
            self.sleep(POLL_S)

    @property
    def _running(self) -> list[Chain]:
        return [chain for chain in self.chains if chain.running]

    def _asked(self, interrupt: Interrupt, begun: float) -> str | None:
        if interrupt.asked:
            return "interrupted"
        if self.minutes is not None:
            span_s = 60.0 * self.minutes
            if self.now() - begun >= span_s - min(SAVE_S, span_s / 10):
                return f"{self.minutes:g} minutes are up"
        return None

    def _tell(self) -> float:
        for chain in self._running:
            for process in chain.running.values():
                process.terminate()
        return self.now()

    def _reap(self) -> None:
        for chain in self._running:
            for command, process in list(chain.running.items()):
                code = process.poll()
                if code is None:
                    continue
                del chain.running[command]
                if code == 0:
                    chain.commands.remove(command)
                    self.say(f"done: {command.label}")
                elif self.stopped is None:
                    log = self.folder.log_of(command)
                    why = f"{command.label} failed (exit code {code}): {last_line(log)}"
                    self.say(f"{why} ({log})")
                    chain.failed = f"{chain.failed}; {why}" if chain.failed else why

    def _fill(self) -> None:
        """Starts commands: those nearest to a result first, then in the order of the study."""
        for chain in self._running:
            self._fill_up(chain)
        while len(self._running) < self.at_once:
            ready = [chain for chain in self.chains if chain.idle]
            if not ready:
                return
            chain = min(ready, key=lambda chain: chain.commands[0].kind)
            self._begin(chain, chain.commands[0])
            self._fill_up(chain)

    def _fill_up(self, chain: Chain) -> None:
        """Starts more measurements of a run that is being measured."""
        for command in chain.ready_measurements[: self.measure_at_once - len(chain.running)]:
            self._begin(chain, command)

    def _begin(self, chain: Chain, command: CommandLine) -> None:
        verb = {Kind.RESUME: "go on with", Kind.TRAIN: "begin"}.get(command.kind, "now")
        self.say(f"{verb}: {command.label}")
        chain.running[command] = self.start(command, self.folder.log_of(command))


def last_line(log: Path) -> str:
    """The last line of a command's output."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return said[-1].removeprefix("swap: ") if said else ""
