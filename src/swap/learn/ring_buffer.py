"""Keeps the latest rows of those that a mask selects, on the device, without waiting for it.

Of every step a changing few of the worlds are looked at, so that a small ring reaches back over
several rollouts instead of holding the last moments of one.
"""

import torch
from torch import Tensor

from swap.errors import UserError
from swap.state_dict import Buffers


class RingBuffer(Buffers):
    """At most `size` rows of `width`, the oldest overwritten first."""

    rows: Tensor
    """[size, width], of which the first `count` hold something."""
    count: Tensor
    place: Tensor
    """Where the next row goes."""
    turn: Tensor
    """The first of the worlds that are looked at next."""

    def __init__(self, size: int, width: int, n: int, per_step: int, device: torch.device) -> None:
        """`per_step`: how many of the `n` worlds are looked at in a step."""
        if not 1 <= per_step <= min(n, size):
            raise UserError(
                f"{per_step} of {n} worlds a step into a ring of {size}; use 1 to {min(n, size)}"
            )
        data = torch.zeros(size + 1, width, device=device)  # the last row is a dustbin
        count, place, turn = torch.zeros(3, dtype=torch.long, device=device).unbind()
        super().__init__(rows=data[:-1], count=count, place=place, turn=turn)
        self.size, self.n, self._data = size, n, data
        self._several = torch.arange(per_step, device=device)

    def store(self, rows: Tensor, keep: Tensor) -> None:
        """One step: rows [N, width] of all worlds, of which those in `keep` [N] may be kept."""
        worlds = (self.turn + self._several) % self.n
        keep = keep.index_select(0, worlds)
        place = (self.place + keep.cumsum(0) - 1) % self.size
        place = torch.where(keep, place, self.size)
        self._data.index_copy_(0, place, rows.index_select(0, worlds))
        kept = keep.sum()
        self.place.add_(kept).remainder_(self.size)
        self.count.add_(kept).clamp_(max=self.size)
        self.turn.add_(len(self._several)).remainder_(self.n)

    def pick(self, chance: Tensor) -> Tensor:
        """Uniform numbers in [0, 1) [M] -> indices of rows that hold something (0 if none does)."""
        index = (chance * self.count).long()
        return torch.minimum(index, self.count - 1).clamp(min=0)
