"""Raw observations -> normalised, in even and odd coordinates -> whatever a network makes of them.

The two halves of the way are separate, because a sample is read once when it is collected and many
times when it is learned from: normalising and splitting are done once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from swap.nn import MLP, RunningNorm, fused_basis
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
        self.reading = fused_basis.Reading(rep, equivariant=equivariant)

    @property
    def width(self) -> int:
        """Of the coordinates: where a kernel makes them, some zeros more than of the input."""
        fused = fused_basis.usable(self.norm.mean)
        return self.reading.width if fused else self.net.rep_in.dim

    def coordinates(self, x: Tensor) -> Tensor:
        """Raw [..., d] -> what `forward` reads, [..., width]."""
        norm = self.norm
        if fused_basis.usable(x):
            return self.reading(norm.checked(x), norm.mean, norm.inverse_std, norm.clip)
        return torch.cat(self.net.split(norm(x)), -1)

    def forward(self, x: Tensor) -> Tensor:
        """Coordinates -> features."""
        if x.shape[-1] == self.net.rep_in.dim:
            return self.net.from_parts(x.split(self.net.layers[0].source.sizes, -1))
        return self.net.from_padded(x)
