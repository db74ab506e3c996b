"""Kills a run again and again: torch is loaded once, every run is a fork that SIGKILL ends.

`python nursery.py FOLDER KILLS` prints what it saw as JSON; tests/runs/test_kill.py judges it.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch

from swap.runs import RunCfg, ToyCfg, load, read_metrics, seed_everything, train
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.console import PlainBoard

CFG = ToyCfg()


def live(folder: Path, iterations: int | None = None, save_minutes: float = 0.0) -> None:
    seed_everything(CFG.seed)
    train(
        CFG.build("cpu"),
        folder,
        # Small shards: many files, many moments to be killed in.
        RunCfg(iterations=iterations, save_minutes=save_minutes, shard_mib=6e-3, tensorboard=False),
        resume=load(folder) if numbered(folder / FOLDER) else None,
        board=PlainBoard(every_s=1e9),
    )


def kill_one(folder: Path, chance: random.Random) -> None:
    ready, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            os.write(begun, b".")
            live(folder)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.read(ready, 1)  # a busy machine may be slow to fork
    os.close(ready)
    os.close(begun)
    time.sleep(chance.uniform(0.0, 0.25))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the run ended by itself"


def main(folder: Path, kills: int) -> None:
    torch.set_num_threads(1)
    CFG.build("cpu")  # what torch imports only when it is used, it imports here
    chance = random.Random(0)
    said: list[str] = []
    reached, halves = [], 0
    for _ in range(kills):
        kill_one(folder, chance)
        halves += bool(list((folder / FOLDER).glob(".saving-*")))
        if numbered(folder / FOLDER):
            reached.append(load(folder, said.append).iteration)
    end = reached[-1] + 10
    live(folder, end)
    live(folder.with_name("never-killed"), end, save_minutes=60.0)
    a, b = load(folder), load(folder.with_name("never-killed"))
    equal = a.tensors.keys() == b.tensors.keys() and all(
        torch.equal(x, b.tensors[name]) for name, x in a.tensors.items()
    )
    rows = read_metrics(folder)
    print(
        json.dumps(
            {
                "said": said,
                "reached": reached,
                "half saved": halves,
                "end": end,
                "equal": equal,
                "iterations": [row["iteration"] for row in rows],
                "losses equal": [row["fit/loss"] for row in rows]
                == [row["fit/loss"] for row in read_metrics(b.path.parent.parent)],
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
