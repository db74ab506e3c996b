"""Kills a run again and again. Every run is a fork, so that torch is loaded once, and SIGKILL ends
it just before it makes, opens, renames or removes a file. A seed chooses the moment, not the clock.

`python kill_runs.py TRAINEE FOLDER KILLS` prints the results as JSON for tests/runs/test_kill.py.
"""

import gc
import json
import math
import os
import random
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import torch

from small_parkour import SMALL, figures
from swap.presets import RunCfg, TrainCfg
from swap.runs import load, seed_everything, train
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.console import PlainBoard
from toy_preset import ToyCfg

TRAINEES: dict[str, TrainCfg] = {"toy": ToyCfg(), "parkour": SMALL}


def run_or_resume(
    kind: str, folder: Path, iterations: int | None = None, save_minutes: float = 0.0
) -> None:
    cfg = TRAINEES[kind]
    seed_everything(cfg.seed)
    train(
        cfg.build("cpu"),
        folder,
        # Small shards give many files, and so many moments at which to kill.
        RunCfg(iterations=iterations, save_minutes=save_minutes, shard_mib=6e-3, tensorboard=False),
        resume=load(folder) if numbered(folder / FOLDER) else None,
        board=PlainBoard(every_s=1e9),
    )


class Operations:
    """Counts a process's file operations in a run, and kills it before a chosen one."""

    CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir")

    def __init__(self) -> None:
        self.count, self.last = 0, math.inf
        self.folder = ""
        sys.addaudithook(self._hook)

    def watch(self, folder: Path, last: float = math.inf) -> None:
        """Count from now on, in this folder; the process is killed before operation `last`."""
        self.folder, self.count, self.last = str(folder), 0, last

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in (*self.CHANGES, "open") or not self.folder:
            return
        if not str(args[0]).startswith(self.folder):
            return
        if event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR):
            return
        self.count += 1
        if self.count >= self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_one(kind: str, folder: Path, operations: Operations, last: int) -> None:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            operations.watch(folder, last)
            run_or_resume(kind, folder)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the run ended by itself"


def main(kind: str, folder: Path, kills: int) -> None:
    torch.set_num_threads(1)
    chance, operations = random.Random(0), Operations()
    # Import and compile everything that is loaded on first use here; its threads end before a fork.
    rehearsal = folder.with_name("rehearsal")
    operations.watch(rehearsal)
    run_or_resume(kind, rehearsal, iterations=4)
    gc.collect()
    longest = 3 * operations.count // 5  # there were five saves
    said: list[str] = []
    reached, halves = [], 0
    for _ in range(kills):
        kill_one(kind, folder, operations, chance.randint(1, longest))
        halves += bool(list((folder / FOLDER).glob(".saving-*")))
        if numbered(folder / FOLDER):
            reached.append(load(folder, said.append).iteration)
    end = reached[-1] + 10
    whole = folder.with_name("never-killed")
    run_or_resume(kind, folder, end)
    run_or_resume(kind, whole, end, save_minutes=60.0)
    a, b = load(folder), load(whole)
    equal = a.tensors.keys() == b.tensors.keys() and all(
        torch.equal(x, b.tensors[name]) for name, x in a.tensors.items()
    )
    print(
        json.dumps(
            {
                "said": said,
                "reached": reached,
                "half saved": halves,
                "end": end,
                "equal": equal,
                "iterations": [row["iteration"] for row in figures(folder)],
                "metrics equal": figures(folder) == figures(whole),
                "compiler": "torch._dynamo" in sys.modules,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
