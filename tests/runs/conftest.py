"""A disk that fails when told to."""

import os
import sys
from collections.abc import Callable, Iterator

import pytest


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
