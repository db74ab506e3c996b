"""Fixtures: a disk that fails on request, a run to copy and to damage, and a kept file of it."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from small_parkour import SMALL
from swap.presets import RunCfg
from swap.robots import load
from swap.runs import to_json, train
from swap.runs.console import PlainBoard
from swap.runs.saved_model import keep_model, read_model


class Disk:
    """Raises an error at the n-th file-system operation."""

    EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "fsync")

    def __init__(self) -> None:
        self.left: int | None = None
        self.error: BaseException | None = None
        self.dead = False

    def arm(self, n: int, error: BaseException, dead: bool = False) -> None:
        """`dead`: all further operations fail, as after kill -9."""
        self.left, self.error, self.dead = n, error, dead

    def calm(self) -> bool:
        """Disarms the disk; returns whether the error was raised."""
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
sys.addaudithook(DISK)  # a hook cannot be removed: one for all tests, mostly inactive


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    true_fsync: Callable[[int], None] = os.fsync

    def fsync(handle: int) -> None:
        DISK("fsync", ())
        true_fsync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    yield DISK
    DISK.calm()


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """A run of two checkpoints, and a kept file of it."""
    home = tmp_path_factory.mktemp("once")
    cfg = replace(SMALL, env=replace(SMALL.env, robot_data=load("go2"), robot="go2"))
    train(
        cfg.build("cpu"),
        home / "run",
        RunCfg(iterations=1, tensorboard=False),
        config={"preset": "tiny", "cfg": to_json(cfg)},
        board=PlainBoard(every_s=1e9),
    )
    keep_model(read_model(home / "run"), home / "kept.safetensors", {"title": "first"})
    return home


@pytest.fixture
def home(once, tmp_path):
    return shutil.copytree(once, tmp_path / "home")


@pytest.fixture
def kept(home):
    return home / "kept.safetensors"


@pytest.fixture
def place(home):
    """The newest checkpoint of the run."""
    return home / "run" / "checkpoints" / "000001"
