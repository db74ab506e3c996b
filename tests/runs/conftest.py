"""A toy run in one call, and a disk that fails when told to."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from swap.runs import Checkpoint, Outcome, RunCfg, ToyCfg, seed_everything, train
from swap.runs.console import PlainBoard


class Silent(PlainBoard):
    """Remembers what a run says."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def toy_run(
    folder: Path,
    run: RunCfg,
    cfg: ToyCfg | None = None,
    resume: Checkpoint | None = None,
    board: Silent | None = None,
) -> Outcome:
    cfg = cfg or ToyCfg()
    seed_everything(cfg.seed)
    return train(cfg.build("cpu"), folder, run, resume=resume, board=board or Silent())


class Disk:
    """Lets an error loose at the n-th thing that is done to the file system."""

    EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "fsync")

    def __init__(self) -> None:
        self.left: int | None = None
        self.error: BaseException | None = None
        self.dead = False

    def arm(self, n: int, error: BaseException, dead: bool = False) -> None:
        """`dead`: nothing works any more after it, as after kill -9."""
        self.left, self.error, self.dead = n, error, dead

    def calm(self) -> bool:
        """Whether the error was due and came."""
        came = self.left is not None and self.left < 0
        self.left = None
        return came

    def __call__(self, event: str, args: object) -> None:
        if self.left is None or self.error is None or event not in self.EVENTS:
            return
        self.left -= 1
        if self.left == -1 or (self.dead and self.left < 0):
            raise self.error


DISK = Disk()
sys.addaudithook(DISK)  # a hook cannot be taken away again: one for all tests, mostly calm


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    true_fsync: Callable[[int], None] = os.fsync

    def fsync(handle: int) -> None:
        DISK("fsync", ())
        true_fsync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    yield DISK
    DISK.calm()
