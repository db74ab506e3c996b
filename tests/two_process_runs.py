"""Tests runs of two processes: resumed, interrupted, or left by a crashed process:
`python two_process_runs.py FOLDER`."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

import tiny_swap
from small_parkour import SMALL, figures
from swap.distributed import PeerLostError, ProcessGroup
from swap.presets import RunCfg
from swap.runs import load, seed_everything, train
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.console import PlainBoard
from swap.runs.distributed_trainable import OTHERS
from two_processes import one_thread, play_scenarios


class Silent(PlainBoard):
    def say(self, line: str) -> None:
        pass

    def stopping(self) -> None:
        pass


def train_until(cfg, folder, processes, iterations, what=lambda iteration: None):
    """Train up to `iterations` in all, and call `what` before each."""
    seed_everything(processes.rank)
    run = RunCfg(iterations=iterations, save_minutes=60.0, tensorboard=False)
    resume = load(folder) if numbered(folder / FOLDER) else None
    trainable = cfg.build("cpu", processes)
    iterate = trainable.iterate

    def watched():
        what(trainable.iteration + 1)
        return iterate()

    trainable.iterate = watched
    return train(trainable, folder, run, resume=resume, board=Silent(), processes=processes)


def resumed(processes: ProcessGroup, folder: Path, cfg) -> dict[str, Any]:
    train_until(cfg, folder / "straight", processes, 4)
    for iterations in (2, 4):
        train_until(cfg, folder / "twice", processes, iterations)
        processes.broadcast()  # the others load what the leader has written
    if processes.rank:
        return {}
    one, two = load(folder / "straight"), load(folder / "twice")
    names = [name for name in one.tensors if name.startswith(OTHERS)]
    return {
        "names": one.tensors.keys() == two.tensors.keys(),
        "differ": [k for k, x in one.tensors.items() if not torch.equal(x, two.tensors[k])],
        "figures": figures(folder / "straight") == figures(folder / "twice"),
        "iteration": two.iteration,
        "others": names,
        "worlds": one.numbers["crew"],
    }


def interrupted(processes: ProcessGroup, folder: Path) -> dict[str, Any]:
    """All processes get a signal in the third iteration."""

    def what(iteration: int) -> None:
        if iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = train_until(SMALL, folder / "run", processes, 50, what)
    return {"interrupted": outcome.interrupted, "iteration": outcome.iteration}


def crashed(processes: ProcessGroup, folder: Path) -> dict[str, Any]:
    def what(iteration: int) -> None:
        if iteration == 2 and processes.rank == 1:
            (folder / "1").write_text("{}")
            os._exit(3)

    try:
        train_until(SMALL, folder / "run", processes, 50, what)
    except PeerLostError as lost:
        return {"lost": str(lost)}
    return {}


def main(folder: Path) -> None:
    one_thread()
    tiny_swap.CFG.build("cpu").iterate()  # so that lazy compilation happens before the forks
    scenarios = {
        "blind": lambda processes: resumed(processes, folder / "blind", SMALL),
        "sees": lambda processes: resumed(processes, folder / "sees", tiny_swap.CFG),
        "interrupted": lambda processes: interrupted(processes, folder / "interrupted"),
        "crashed": lambda processes: crashed(processes, folder / "crashed"),
    }
    play_scenarios(scenarios, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
