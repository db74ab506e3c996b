"""A run of several processes: process 0 leads it, and the others do as they are told.

The leader runs the loop, decides and writes; before each thing that needs everyone it says so. In
a checkpoint the tensors of the leader stand under their own names, as if it were alone. Those of
process 2 are added as `process/2/NAME`, but only where they differ: worlds and chance, not weights.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from swap.errors import UserError
from swap.kept import under
from swap.runs.reading import measured
from swap.runs.seeding import restore_rng, rng_tensors
from swap.runs.trainee import Trainee
from swap.team import ALONE, Team

RNG, CREW, OTHERS = "run/rng/", "crew", "process/"
"""Names in a checkpoint: of chance, of the number of processes, of what is theirs alone."""
Tensors = dict[str, Tensor]
Numbers = dict[str, Any]


class Order(IntEnum):
    """What the leader tells the others."""

    END = 0
    ITERATE = 1
    SAVE = 2
    PLAN = 3


class Crew:
    """A trainee that all processes iterate and put away together."""

    def __init__(self, trainee: Trainee, team: Team = ALONE) -> None:
        self.trainee, self.team = trainee, team

    # --- the leader -----------------------------------------------------------------------------
    def iterate(self) -> Mapping[str, float]:
        self.team.tell(Order.ITERATE)
        return self.trainee.iterate()

    def plan(self, steps: float) -> None:
        """The run will have so many control steps in all."""
        self.team.tell(Order.PLAN)
        self.trainee.plan(self.team.tell(round(steps)))

    def state(self) -> tuple[Tensors, Numbers]:
        """All that has to be kept, of everyone."""
        self.team.tell(Order.SAVE)
        (tensors, numbers), *others = self.team.gather(self._own())
        if self.team.alone:
            return tensors, numbers
        out = dict(tensors)
        for rank, (theirs, _) in enumerate(others, 1):
            fresh = {k: x for k, x in theirs.items() if not _same(x, tensors.get(k))}
            out |= {f"{OTHERS}{rank}/{k}": x for k, x in fresh.items()}
        return out, {**numbers, CREW: [theirs for _, theirs in others]}

    def dismiss(self, sig: int = 0) -> None:
        """The end; `sig` is the signal that brought it, or 0."""
        self.team.tell(Order.END)
        self.team.tell(sig)

    # --- the others -----------------------------------------------------------------------------
    def obey(self) -> int:
        """Until the leader ends it; gives the signal that made it, or 0."""
        while (order := self.team.tell()) != Order.END:
            if order == Order.ITERATE:
                self.trainee.iterate()
            elif order == Order.PLAN:
                self.trainee.plan(self.team.tell())
            else:
                self.team.gather(self._own())
        return self.team.tell()

    # --- all ------------------------------------------------------------------------------------
    def _own(self) -> tuple[Tensors, Numbers]:
        tensors = {**self.trainee.tensors(), **{RNG + k: x for k, x in rng_tensors().items()}}
        if not self.team.alone:
            tensors = {name: x.cpu() for name, x in tensors.items()}
        return tensors, self.trainee.numbers()

    def check(self, numbers: Numbers) -> None:
        """Worlds are not shared out anew: as many processes as there were have to go on."""
        size = 1 + len(numbers.get(CREW, ()))
        if size != self.team.size:
            start = f"torchrun --nproc-per-node {size} -m swap" if size > 1 else "swap"
            raise UserError(
                f"that run has {size} processes, now there are {self.team.size}; "
                f"go on with: {start} train --resume ..."
            )

    def restore(self, tensors: Tensors, numbers: Numbers) -> None:
        """This process as it was, out of what `state` gave."""
        mine = {k: x for k, x in tensors.items() if not k.startswith(OTHERS)}
        if rank := self.team.rank:
            mine |= under(f"{OTHERS}{rank}/", tensors)
            numbers = numbers[CREW][rank - 1]
        chance = under(RNG, mine)
        own = {k: x for k, x in mine.items() if not k.startswith(RNG)}
        numbers = {k: x for k, x in numbers.items() if k != CREW}
        check_numbers(numbers, self.trainee.numbers())
        self.trainee.restore(own, numbers)
        check_tensors(own, self.trainee.tensors())
        restore_rng(chance)


def check_numbers(saved: Any, live: Any, name: str = "numbers") -> None:
    """ValueError unless what was saved is of the kind that lives there; one that is not set yet may
    become any number."""
    if isinstance(live, Mapping) and isinstance(saved, Mapping):
        for key in live.keys() & saved.keys():
            check_numbers(saved[key], live[key], f"{name}.{key}")
    elif live is None:
        if saved is not None and not measured(saved):
            raise ValueError(f"'{name}' is no number")
    elif type(saved) is not type(live):
        raise ValueError(f"'{name}' is a {type(saved).__name__}, not a {type(live).__name__}")


def check_tensors(saved: Tensors, live: Tensors) -> None:
    """ValueError unless all that was saved has found its place, as it was."""
    for name, x in saved.items():
        if name not in live:
            raise ValueError(f"'{name}' is among the saved tensors, and has no place")
        if x.dtype != live[name].dtype:
            raise ValueError(f"'{name}' was saved as {x.dtype}, not as {live[name].dtype}")


def _same(x: Tensor, y: Tensor | None) -> bool:
    return y is not None and x.dtype == y.dtype and torch.equal(x, y)
