"""Keeps the latest rows that a mask selects, on the device, without waiting for it.

In every step it considers only a few of the worlds, others each time, so that a small ring reaches
back over several rollouts instead of holding the last moments of one.
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
    """Index of the next row."""
    turn: Tensor
    """The first of the worlds that are considered next."""

    def __init__(self, size: int, width: int, n: int, per_step: int, device: torch.device) -> None:
        """`per_step`: how many of the `n` worlds are considered in a step."""
        if not 1 <= per_step <= min(n, size):
            raise UserError(
                f"{per_step} of {n} worlds a step into a ring of {size}; use 1 to {min(n, size)}"
            )
        data = torch.zeros(size + 1, width, device=device)  # the last row takes what is not kept
        count, place, turn = torch.zeros(3, dtype=torch.long, device=device).unbind()
        super().__init__(rows=data[:-1], count=count, place=place, turn=turn)
        self.size, self.n, self._data = size, n, data
        self._several = torch.arange(per_step, device=device)

    def store(self, rows: Tensor, keep: Tensor) -> None:
        """Takes one step: rows [N, width] of all worlds, of which those in `keep` [N] may be
        kept."""
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
        """Turns uniform numbers in [0, 1) [M] into indices of filled rows (0 if there are none)."""
        index = (chance * self.count).long()
        return torch.minimum(index, self.count - 1).clamp(min=0)
