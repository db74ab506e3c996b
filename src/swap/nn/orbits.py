"""Sorts columns by what the mirror does to them, for sums that are invariant to the last bit."""

import torch
from torch import Tensor, nn

from swap.nn.views import Parts
from swap.symmetry import Parity, Rep


class Orbits(nn.Module):
    """Sets of columns: the left one of each pair, the right one, and those that stay in place.

    Empty sets are left out. Adding the left sum to the right sum commutes, so `sum` gives the same
    bits for a mirrored input. The plain twin keeps all columns in one set.
    """

    place: Tensor
    first: Tensor
    second: Tensor

    def __init__(self, rep: Rep, *, equivariant: bool = True) -> None:
        super().__init__()
        parity = Parity(rep)
        self.n_pairs = len(parity.pairs) if equivariant else 0
        fixed = parity.fixed if equivariant else tuple(range(rep.dim))
        sets = [tuple(column) for column in zip(*parity.pairs, strict=True)] if self.n_pairs else []
        sets += [fixed] if fixed else []
        self.n_sets = len(sets)
        for k, columns in enumerate(sets):
            self.register_buffer(f"set{k}", torch.tensor(columns), persistent=False)
        order = [i for columns in sets for i in columns]
        place = torch.tensor(order).argsort()
        self.register_buffer("place", place, persistent=False)
        self.size = self.n_pairs + len(fixed)
        """How many orbits: the number of parameters tied across the mirror."""
        left, right = zip(*parity.pairs, strict=True) if self.n_pairs else ((), ())
        for name, side in (("first", left), ("second", right)):
            self.register_buffer(name, torch.tensor((*side, *fixed)), persistent=False)

    @property
    def columns_of(self) -> tuple[Tensor, Tensor]:
        """The first column of each orbit and its mirror image, [size] each."""
        return self.first, self.second

    def columns(self, x: Tensor) -> Parts:
        return tuple(x.index_select(-1, getattr(self, f"set{k}")) for k in range(self.n_sets))

    def tied(self, values: Tensor) -> Parts:
        """Expand one value per orbit to one per column, in sets; a pair's columns share one."""
        pairs, fixed = values[: self.n_pairs], values[self.n_pairs :]
        both = tuple(pairs.expand(2, -1).unbind(0)) if self.n_pairs else ()
        return (*both, fixed) if len(fixed) else both

    def merge(self, sets: Parts) -> Tensor:
        """Join sets of columns into the tensor, in its original order."""
        return torch.cat(sets, -1).index_select(-1, self.place)

    def sum(self, sets: Parts) -> Tensor:
        """The sum over all columns, [...]."""
        totals = [s.sum(-1) for s in sets]
        if self.n_pairs:
            totals = [totals[0] + totals[1], *totals[2:]]
        return totals[0] if len(totals) == 1 else totals[0] + totals[1]
