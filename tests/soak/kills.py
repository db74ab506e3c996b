"""SIGKILL at each thing that a save, or `swap keep`, does to the file system, one after the other.

Every try is a fork of this process: torch is loaded once. An audit hook counts what is done.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import torch

from soak.tally import Tally
from swap.errors import UserError
from swap.runs import load, load_weights, save, save_weights

EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate")
Do = Callable[[Path], None]
Look = Callable[[Path, list[str]], int]


class Trap:
    """Kills this process at the n-th event. A hook cannot be taken away: mostly it sleeps."""

    def __init__(self) -> None:
        self.left: int | None = None

    def __call__(self, event: str, args: object) -> None:
        if self.left is not None and event in EVENTS:
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


TRAP = Trap()
sys.addaudithook(TRAP)


def state(i: int) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(i)
    return {name: torch.randn(40, 10, generator=g) for name in ("a", "b", "c")} | {
        "count": torch.tensor(i)
    }


def matches(tensors: dict[str, torch.Tensor], i: int) -> bool:
    truth = state(i)
    return tensors.keys() == truth.keys() and all(torch.equal(tensors[k], truth[k]) for k in truth)


def put(run: Path, i: int) -> None:
    run.mkdir(exist_ok=True)
    save(run, i, state(i), {"i": i}, {"a": i}, keep=1, shard_mib=2e-3)


def found_run(run: Path, said: list[str]) -> int:
    found = load(run, said.append)
    sound = matches(found.tensors, found.iteration) and found.numbers == {"i": found.iteration}
    return found.iteration if sound else 0


def keep(folder: Path, i: int) -> None:
    save_weights(folder / "robot.safetensors", state(i), {"of": i, "figures": {}})


def found_model(folder: Path, said: list[str]) -> int:
    tensors, card = load_weights(folder / "robot.safetensors")
    return card["of"] if matches(tensors, card["of"]) else 0


def killed(do: Callable[[], None], n: int) -> bool:
    """Whether it was killed before it ended."""
    child = os.fork()
    if child == 0:
        TRAP.left = n
        try:
            do()
        finally:
            TRAP.left = None
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def kills(count: int, home: Path, chance: Random) -> list[Tally]:
    """Half of them at saves, half at keeps; n runs through every moment again and again."""
    parts = [("save", put, found_run), ("swap keep", keep, found_model)]
    return [_part(name, do, look, max(count // 2, 1), home / name) for name, do, look in parts]


def _part(name: str, do: Callable[[Path, int], None], look: Look, count: int, home: Path) -> Tally:
    tally = Tally(f"kills, {name}")
    n = 0
    for k in range(count):
        place = home / str(k)
        place.mkdir(parents=True)
        do(place, 1)
        n = n + 1 if killed(lambda place=place: do(place, 2), n) else 0
        tally.tried += 1
        said: list[str] = []
        try:
            found = look(place, said)
            do(place, 3)
            after = look(place, said)
        except UserError as error:
            tally.fault("lost", f"at {n}: {error}")
        except Exception as error:
            tally.fault("tracebacks", f"at {n}: {type(error).__name__}: {error}")
        else:
            if found not in (1, 2) or after != 3:
                tally.fault("lost" if said else "silent", f"at {n}: found {found}, {after}")
        shutil.rmtree(place)
    return tally
