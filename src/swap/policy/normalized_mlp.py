"""Raw observations -> normalised, in even and odd coordinates -> whatever a network makes of them.

The two halves of the way are separate, because a sample is read once when it is collected and many
times when it is learned from: normalising and splitting are done once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from swap.nn import MLP, RunningNorm
from swap.symmetry import Rep


class NormalizedMLP(nn.Module):
    """A running normaliser and an MLP behind it."""

    def __init__(
        self,
        rep: Rep,
        hidden: Sequence[int],
        rep_out: Rep,
        *,
        act: str,
        out_gain: float,
        equivariant: bool,
    ) -> None:
        super().__init__()
        self.norm = RunningNorm(rep, equivariant=equivariant)
        self.net = MLP(rep, hidden, rep_out, act=act, out_gain=out_gain, equivariant=equivariant)

    @property
    def width(self) -> int:
        return self.net.rep_in.dim

    def coordinates(self, x: Tensor) -> Tensor:
        """Raw [..., d] -> what `forward` reads, [..., d]."""
        return torch.cat(self.net.split(self.norm(x)), -1)

    def forward(self, x: Tensor) -> Tensor:
        """Coordinates -> features."""
        return self.net.from_parts(x.split(self.net.layers[0].source.sizes, -1))
