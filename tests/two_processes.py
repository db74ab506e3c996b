"""Runs two processes that train together, as forks of this one, so that torch is loaded once.

two_process_learning.py and two_process_runs.py are scripts of scenarios; each prints, as JSON for
a test, what every scenario returned in both processes.
"""

import gc
import json
import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from scripts import run_script
from swap.distributed import ProcessGroup

SIZE = 2


def run_scenarios(script: str, folder: Path) -> dict[str, list[Any]]:
    """Run a script of scenarios and return what each of them returned in both processes."""
    told: dict[str, list[Any]] = run_script(script, folder)[0]
    for name, each in told.items():
        for one in each:
            assert isinstance(one, dict), f"{name}: {one}"  # otherwise it is a traceback
    return told


def play_scenarios(scenarios: Mapping[str, Callable[[ProcessGroup], Any]], folder: Path) -> None:
    """Called by a script: run all scenarios and print what they returned."""
    gc.collect()  # so that threads of imported or compiled code end before a fork
    print(json.dumps({name: both(work, folder / name) for name, work in scenarios.items()}))


def one_thread() -> None:
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def both(work: Callable[[ProcessGroup], Any], folder: Path) -> list[Any]:
    """What `work` returns in each of two processes; a traceback if it fails."""
    folder.mkdir(parents=True)
    children = []
    for rank in range(SIZE):
        if child := os.fork():
            children.append(child)
            continue
        try:
            meeting = f"file://{folder}/meeting"
            dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=SIZE)
            told = work(ProcessGroup(rank, SIZE))
        except BaseException:
            told = traceback.format_exc()
        (folder / str(rank)).write_text(json.dumps(told))
        os._exit(0)  # the others notice, as they would notice a crash
    for child in children:
        os.waitpid(child, 0)
    return [json.loads((folder / str(rank)).read_text()) for rank in range(SIZE)]
