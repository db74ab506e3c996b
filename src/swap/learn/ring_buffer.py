"""Rows that may or may not be kept in, the latest that were out; all on the device, nothing waits.

Of every step a changing few of the worlds are looked at, so that a small ring reaches back over
several rollouts instead of holding the last moments of one.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from swap.errors import UserError


class RingBuffer:
    """At most `size` rows of `width`, the oldest overwritten first."""

    def __init__(self, size: int, width: int, n: int, per_step: int, device: torch.device) -> None:
        """`per_step`: how many of the `n` worlds are looked at in a step."""
        if not 1 <= per_step <= min(n, size):
            raise UserError(
                f"{per_step} of {n} worlds a step into a ring of {size}; use 1 to {min(n, size)}"
            )
        self.size, self.n = size, n
        self._data = torch.zeros(size + 1, width, device=device)  # the last row is a dustbin
        self.count, self._place, self._turn = torch.zeros(
            3, dtype=torch.long, device=device
        ).unbind()
        self._several = torch.arange(per_step, device=device)

    @property
    def rows(self) -> Tensor:
        """[size, width], of which the first `count` hold something."""
        return self._data[:-1]

    def store(self, rows: Tensor, keep: Tensor) -> None:
        """One step: rows [N, width] of all worlds, of which those in `keep` [N] may be kept."""
        worlds = (self._turn + self._several) % self.n
        keep = keep.index_select(0, worlds)
        place = (self._place + keep.cumsum(0) - 1) % self.size
        place = torch.where(keep, place, self.size)
        self._data.index_copy_(0, place, rows.index_select(0, worlds))
        kept = keep.sum()
        self._place.add_(kept).remainder_(self.size)
        self.count.add_(kept).clamp_(max=self.size)
        self._turn.add_(len(self._several)).remainder_(self.n)

    def pick(self, chance: Tensor) -> Tensor:
        """Uniform numbers in [0, 1) [M] -> indices of rows that hold something (0 if none does)."""
        index = (chance * self.count).long()
        return torch.minimum(index, self.count - 1).clamp(min=0)

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """Its own tensors, by name; to restore, copy into them."""
        yield "rows", self.rows
        yield "count", self.count
        yield "place", self._place
        yield "turn", self._turn
