"""Coordinates a run of several processes: process 0 leads, the others follow.

The leader runs the loop, decides and writes; it announces each action that needs all processes. In
a checkpoint the tensors of the leader have their own names, as if it were alone. Those of process 2
are added as `process/2/NAME`, but only where they differ: worlds and random states, not weights.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn.trainable import Trainable
from swap.runs.safe_read import is_nonnegative
from swap.runs.seeding import restore_rng, rng_tensors
from swap.state_dict import sub_state

RNG, OTHERS_NUMBERS, OTHERS = "run/rng/", "crew", "process/"
"""Names in a checkpoint: of random states, of the other processes' numbers, and of their own
tensors."""
Tensors = dict[str, Tensor]
Numbers = dict[str, Any]


class Order(IntEnum):
    """What the leader tells the others."""

    END = 0
    ITERATE = 1
    SAVE = 2
    PLAN = 3


class DistributedTrainable:
    """A trainable that all processes iterate and save together."""

    def __init__(self, trainable: Trainable, processes: ProcessGroup = SINGLE_PROCESS) -> None:
        self.trainable, self.processes = trainable, processes

    # --- the leader -----------------------------------------------------------------------------
    def iterate(self) -> Mapping[str, float]:
        self.processes.broadcast(Order.ITERATE)
        return self.trainable.iterate()

    def plan(self, steps: float) -> None:
        """Sets how many control steps the run will have in all."""
        self.processes.broadcast(Order.PLAN)
        self.trainable.plan(self.processes.broadcast(round(steps)))

    def gather_state(self) -> tuple[Tensors, Numbers]:
        """Gathers the state of all processes."""
        self.processes.broadcast(Order.SAVE)
        (tensors, numbers), *others = self.processes.gather(self._own())
        if self.processes.alone:
            return tensors, numbers
        out = dict(tensors)
        for rank, (theirs, _) in enumerate(others, 1):
            fresh = {k: x for k, x in theirs.items() if not _same(x, tensors.get(k))}
            out |= {f"{OTHERS}{rank}/{k}": x for k, x in fresh.items()}
        return out, {**numbers, OTHERS_NUMBERS: [theirs for _, theirs in others]}

    def finish(self, sig: int = 0) -> None:
        """Tells the others to end; `sig` is the signal that ended the run, or 0."""
        self.processes.broadcast(Order.END)
        self.processes.broadcast(sig)

    # --- the others -----------------------------------------------------------------------------
    def follow_leader(self) -> int:
        """Does what the leader says until it ends the run; returns the signal that ended it, or
        0."""
        while (order := self.processes.broadcast()) != Order.END:
            if order == Order.ITERATE:
                self.trainable.iterate()
            elif order == Order.PLAN:
                self.trainable.plan(self.processes.broadcast())
            else:
                self.processes.gather(self._own())
        return self.processes.broadcast()

    # --- all processes --------------------------------------------------------------------------
    def _own(self) -> tuple[Tensors, Numbers]:
        tensors = {**self.trainable.state_dict(), **{RNG + k: x for k, x in rng_tensors().items()}}
        if not self.processes.alone:
            tensors = {name: x.cpu() for name, x in tensors.items()}
        return tensors, self.trainable.numbers()

    def check(self, numbers: Numbers) -> None:
        """Raises a UserError unless there are as many processes as before, since worlds cannot be
        redistributed."""
        size = 1 + len(numbers.get(OTHERS_NUMBERS, ()))
        if size != self.processes.size:
            start = f"torchrun --nproc-per-node {size} -m swap" if size > 1 else "swap"
            raise UserError(
                f"that run has {size} processes, now there are {self.processes.size}; "
                f"go on with: {start} train --resume ..."
            )

    def restore(self, tensors: Tensors, numbers: Numbers) -> None:
        """Restores this process from what `gather_state` gave."""
        mine = {k: x for k, x in tensors.items() if not k.startswith(OTHERS)}
        if rank := self.processes.rank:
            mine |= sub_state(f"{OTHERS}{rank}/", tensors)
            numbers = numbers[OTHERS_NUMBERS][rank - 1]
        chance = sub_state(RNG, mine)
        own = {k: x for k, x in mine.items() if not k.startswith(RNG)}
        numbers = {k: x for k, x in numbers.items() if k != OTHERS_NUMBERS}
        check_numbers(numbers, self.trainable.numbers())
        self.trainable.load_state_dict(own, numbers)
        check_tensors(own, self.trainable.state_dict())
        restore_rng(chance)


def check_numbers(saved: Any, live: Any, name: str = "numbers") -> None:
    """Raises a ValueError unless the saved numbers have the same kinds as the present ones; one
    that is not set yet may become any number."""
    if isinstance(live, Mapping) and isinstance(saved, Mapping):
        for key in live.keys() & saved.keys():
            check_numbers(saved[key], live[key], f"{name}.{key}")
    elif live is None:
        if saved is not None and not is_nonnegative(saved):
            raise ValueError(f"'{name}' is no number")
    elif type(saved) is not type(live):
        raise ValueError(f"'{name}' is a {type(saved).__name__}, not a {type(live).__name__}")


def check_tensors(saved: Tensors, live: Tensors) -> None:
    """Raises a ValueError unless every saved tensor has a place of the same type here."""
    for name, x in saved.items():
        if name not in live:
            raise ValueError(f"'{name}' is among the saved tensors, and has no place")
        if x.dtype != live[name].dtype:
            raise ValueError(f"'{name}' was saved as {x.dtype}, not as {live[name].dtype}")


def _same(x: Tensor, y: Tensor | None) -> bool:
    return y is not None and x.dtype == y.dtype and torch.equal(x, y)
