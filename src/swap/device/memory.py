"""Estimates how much memory a number of worlds takes, and gives back what worlds have left.

The estimate is printed before anything is built, and more worlds than fit are refused: a machine
that runs out of memory later may give no message at all, or stop another program.
"""

import contextlib
import ctypes
import gc
import os
from pathlib import Path

from swap.errors import UserError

MIB_A_WORLD = {
    # From the memory of two runs with different numbers of worlds, plus a margin.
    ("cpu", False): 0.4,  # `tiny`, an iteration with 512 worlds and one with 128: 0.22
    ("cpu", True): 1.7,  # `swap`, built with 256 worlds and with 64: 1.1, before its working memory
    ("gpu", False): 0.25,  # `teacher`: 1.5 GiB with 6000 worlds, docs/log.md
    ("gpu", True): 1.7,  # `swap`: 9.7 GiB with 6000 worlds, docs/log.md
}
"""MiB per world, by engine and by whether a world model is trained."""
CGROUP = Path("/sys/fs/cgroup/memory.max")
"""Holds the container's memory limit: a number of bytes, or `max`."""


def give_back_memory() -> None:
    """What nobody uses any more, to the system: environments are full of circles, which stay until
    they are looked for, and glibc keeps what is freed between two things that are not."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another libc
        ctypes.CDLL(None).malloc_trim(0)


def needed_mib(worlds: int, engine: str, *, world_model: bool = False) -> float:
    """MiB that all worlds take together."""
    return worlds * MIB_A_WORLD["gpu" if engine == "gpu" else "cpu", world_model]


def machine_mib(device: str) -> float:
    """Total memory of the GPU in MiB, or what this process may use of the machine's memory."""
    if device.startswith("cuda"):
        import torch

        return float(torch.cuda.mem_get_info(device)[1]) / 2**20
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        whole = min(whole, int(CGROUP.read_text()))
    return whole / 2**20


def check_memory(
    worlds: int, device: str, *, world_model: bool = False, option: str = "--worlds"
) -> str:
    """Return a line like `memory: about 0.4 of 15.6 GiB for 1,000 worlds`; UserError if they do
    not fit."""
    engine = "gpu" if device.startswith("cuda") else "cpu"
    gib, have = check_room(worlds, needed_mib(1, engine, world_model=world_model), device, option)
    return f"memory: about {gib:,.1f} of {have:,.1f} GiB for {worlds:,} worlds"


def check_room(count: int, mib_each: float, device: str, option: str) -> tuple[float, float]:
    """Return the GiB that `count` things need and the GiB there are; UserError if they do not
    fit."""
    need, have = count * mib_each / 1024, machine_mib(device) / 1024
    if need > have:
        raise UserError(
            f"{option} {count} needs about {need:,.1f} GiB, {device} has {have:,.1f}; "
            f"use at most {int(1024 * have / mib_each)}"
        )
    return need, have
