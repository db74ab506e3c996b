"""Commands of many runs in; all of them done, several at once, or stopped cleanly in time, out."""

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
from swap.study.plan import Command, Folder, Kind

POLL_S = 0.2
SAVE_S = 40.0
"""So early before the time is up, or a tenth of the time if that is less, runs are told to stop:
they save, four at once on one disk, and end."""
GRACE_S = 120.0
"""A run that has not stopped so long after it was told to is told again, which ends it at once; its
last checkpoint stands."""
STATUS_S = 60.0


class Process(Protocol):
    """What is needed of a `subprocess.Popen`."""

    def poll(self) -> int | None: ...

    def terminate(self) -> None: ...


Start = Callable[[Command, Path], Process]
"""A command, and the file for what it says -> the process."""


def start_process(env: Mapping[str, str]) -> Start:
    """Starts commands in processes of their own, in which a Ctrl-C of the terminal is not heard:
    the study passes it on."""

    def start(command: Command, log: Path) -> Process:
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

    commands: list[Command]
    process: Process | None = None
    failed: str | None = None

    @property
    def idle(self) -> bool:
        return bool(self.commands) and self.process is None and self.failed is None


@dataclass
class Pool:
    """Works off the chains; each command is tried once."""

    folder: Folder
    chains: Sequence[Chain]
    start: Start
    at_once: int = 1
    minutes: float | None = None
    say: Callable[[str], None] = print
    listens: bool = True
    """A signal asks for an end. A scheduler that has a way of its own with signals says False."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    status: Callable[[Sequence[Command]], str] = lambda running: ""
    """What to tell of the commands that run, now and then."""
    stopped: str | None = field(default=None, init=False)
    """Why it was left before everything was done."""
    signal: int | None = field(default=None, init=False)

    def run(self, started_s: float | None = None) -> None:
        """`started_s`: when the minutes began."""
        begun = self.now() if started_s is None else started_s
        told_s, next_s = 0.0, self.now() + STATUS_S
        ears = Interrupt(self)
        with ears if self.listens else contextlib.nullcontext(ears) as interrupt:
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
                    self.say(self.status([chain.commands[0] for chain in self._running]))
                self.sleep(POLL_S)
            self.signal = interrupt.signal

    def stopping(self) -> None:
        """Of `Interrupt`: the loop says it."""

    def stop(self) -> None:
        """From outside the loop: what runs saves and ends, and is waited for."""
        self.stopped = "stopped"
        told_s = self._tell()
        while self._running and self.now() - told_s < GRACE_S:
            self._reap()
            self.sleep(POLL_S)

    @property
    def _running(self) -> list[Chain]:
        return [chain for chain in self.chains if chain.process is not None]

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
            assert chain.process is not None
            chain.process.terminate()
        return self.now()

    def _reap(self) -> None:
        for chain in self._running:
            assert chain.process is not None
            code = chain.process.poll()
            if code is None:
                continue
            chain.process, command = None, chain.commands[0]
            if code == 0:
                chain.commands.pop(0)
                self.say(f"done: {command.label}")
            elif self.stopped is None:
                log = self.folder.log(command.run)
                chain.failed = f"{command.label} failed (exit code {code}): {last_line(log)}"
                self.say(f"{chain.failed} ({log})")

    def _fill(self) -> None:
        """What is nearest to a result goes first, then what comes first in the study."""
        while len(self._running) < self.at_once:
            ready = [chain for chain in self.chains if chain.idle]
            if not ready:
                return
            chain = min(ready, key=lambda chain: chain.commands[0].kind)
            command = chain.commands[0]
            verb = {Kind.RESUME: "go on with", Kind.TRAIN: "begin"}.get(command.kind, "now")
            self.say(f"{verb}: {command.label}")
            chain.process = self.start(command, self.folder.log(command.run))


def last_line(log: Path) -> str:
    """Of what a command said."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return said[-1].removeprefix("swap: ") if said else ""
