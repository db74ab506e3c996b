"""Connects processes that train one robot together, one GPU each.

`torchrun` starts them and gives each its rank. Every process has its own worlds and a copy of all
weights; the copies stay equal to the last bit because every change is first summed over all
processes. All processes must make these calls in the same order. In a single process the calls do
nothing.
"""

import contextlib
import importlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from swap.errors import UserError

PATIENCE = timedelta(minutes=10)
"""How long one process waits for the others: they may compile, or write to a slow disk."""


class PeerLostError(Exception):
    """Another process is gone; its own last message says why."""


class ProcessGroup:
    """This process as number `rank` of `size`. Only number 0, the leader, prints and writes."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def alone(self) -> bool:
        return self.size == 1

    def split_evenly(self, whole: int, name: str) -> int:
        """The part of `whole` for each process; UserError if it cannot be split evenly."""
        part, rest = divmod(whole, self.size)
        if rest or not part:
            near = self.size * max(1, round(whole / self.size))
            raise UserError(
                f"{name}={whole} cannot be shared out evenly among {self.size} processes; "
                f"use {near}"
            )
        return part

    # --- on the device; nothing here waits for it -----------------------------------------------
    def all_reduce(self, *several: Tensor) -> list[Tensor]:
        """Sum each tensor over all processes, in one message and in double precision."""
        if self.alone:
            return list(several)
        flat = torch.cat([x.detach().double().flatten() for x in several])
        self.all_reduce_(flat)
        parts = flat.split([x.numel() for x in several])
        return [part.view_as(x).to(x.dtype) for part, x in zip(parts, several, strict=True)]

    def all_reduce_(self, x: Tensor) -> None:
        """Replace `x` in place by its sum over all processes."""
        if not self.alone:
            with self._together():
                dist.all_reduce(x)

    def broadcast_tensors(self, several: Sequence[Tensor]) -> None:
        """Overwrite all tensors in place by those of process 0."""
        if not self.alone:
            with self._together():
                for x in several:
                    dist.broadcast(x, 0)

    # --- on the host ----------------------------------------------------------------------------
    def broadcast(self, order: int = 0) -> int:
        """Return the number that process 0 passes, in all processes."""
        if self.alone:
            return order
        said = torch.tensor(order)
        with self._together():
            dist.broadcast(said, 0)
        return int(said)

    def gather(self, mine: Any) -> list[Any]:
        """Return the objects of all processes, in order, in process 0; an empty list in others."""
        if self.alone:
            return [mine]
        every = [None] * self.size if self.rank == 0 else None
        with self._together():
            dist.gather_object(mine, every, 0)
        return every or []

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            why = re.sub(r"^\[\S*\] *", "", str(error)).split(". ")[0].splitlines()[0]
            raise PeerLostError(f"process {self.rank} has lost another: {why}") from error


SINGLE_PROCESS = ProcessGroup()


def torchrun_group() -> ProcessGroup:
    """This process's rank and size from torchrun's variables; it opens no connection."""
    size = int(os.environ.get("WORLD_SIZE", 1))
    return ProcessGroup(int(os.environ["RANK"]), size) if size > 1 else SINGLE_PROCESS


def local_device(device: str) -> str:
    """The device of this process; several processes on one machine each take their own GPU."""
    if torchrun_group().alone or device == "cpu":
        return device
    local, count = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
    if device != "cuda":
        raise UserError(f"--device {device}: each process takes its own GPU; use --device cuda")
    if local >= count:
        raise UserError(
            f"this machine has {count} GPUs, one for each process; use --nproc-per-node {count}"
        )
    return f"cuda:{local}"


@contextlib.contextmanager
def init_process_group(device: str) -> Iterator[ProcessGroup]:
    """Connect the processes that torchrun has started; without torchrun, a single process."""
    processes = torchrun_group()
    if processes.alone:
        yield processes
        return
    if not dist.is_available():
        raise UserError("this torch cannot train in several processes; start swap without torchrun")
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)
    # Adam imports this. If it were imported while the group exists, it would keep the group and its
    # threads alive, and such a thread sometimes aborts the process at its end.
    importlib.import_module("torch._dynamo")
    # Messages between hosts use gloo, tensors on GPUs use nccl.
    dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=PATIENCE)
    yield processes
    dist.destroy_process_group()  # not after a fault: it could wait for those that are gone
