"""Normalises observations to zero mean and unit scale, with running statistics that are themselves
symmetric.

Statistics are kept in even and odd coordinates, which do not trade places under the mirror: the
mean of an odd coordinate is zero by symmetry, so only its square is counted, and the two entries of
a pair share the mean of their squares. A run on mirrored data therefore ends in the same
statistics, to the last bit, and a robot that has only ever turned left is not biased to the left.
"""

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.nn import fused_statistics
from swap.nn.basis import Basis
from swap.symmetry import Parity, Rep, trivial


class RunningNorm(nn.Module):
    """`update` adds a batch to the statistics (float64); `forward` normalises and clips."""

    mean: Tensor
    inverse_std: Tensor
    count: Tensor
    coord_mean: Tensor
    coord_var: Tensor
    source_coords: Tensor

    def __init__(
        self, rep: Rep, *, clip: float = 10.0, eps: float = 1e-4, equivariant: bool = True
    ) -> None:
        super().__init__()
        self.rep, self.clip, self.eps, self.equivariant = rep, clip, eps, equivariant
        self.basis = Basis(rep, equivariant=equivariant)
        self.tables = fused_statistics.GatherTables(rep, equivariant=equivariant)
        for name, fill in (("mean", 0.0), ("inverse_std", 1.0)):
            self.register_buffer(name, torch.full((rep.dim,), fill))
        for name in (
            "coord_mean",
            "coord_var",
        ):  # mean, and mean square about it, of each coordinate
            self.register_buffer(name, torch.zeros(rep.dim, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        # The two coordinates that each entry is made of (the same one twice if it has no partner).
        merge = Parity(rep).merge if equivariant else Parity(trivial(rep.dim)).merge
        self.register_buffer("source_coords", torch.tensor([merge.a, merge.b]), persistent=False)

    def checked(self, x: Tensor) -> Tensor:
        """Return x; UserError if it does not have as many entries as the Rep."""
        if x.shape[-1] != self.rep.dim:
            raise UserError(
                f"this normaliser knows {self.rep.dim} entries, got {x.shape[-1]}; "
                f"pass [..., {self.rep.dim}]"
            )
        return x

    def forward(self, x: Tensor) -> Tensor:
        x = self.checked(x)
        mean, inverse_std = self.mean.to(x.dtype), self.inverse_std.to(x.dtype)
        return ((x - mean) * inverse_std).clamp(-self.clip, self.clip)

    @torch.no_grad()
    def update(self, x: Tensor, mask: Tensor | None = None) -> None:
        """Add a batch [..., d] of raw observations to the statistics, where `mask` [...] is True.

        A row that is masked out may hold anything, even NaN. The host never waits for the device.
        """
        x = x.reshape(-1, self.rep.dim)
        if fused_statistics.usable(x):
            fused_statistics.update(self, x, None if mask is None else mask.reshape(-1))
            return
        n = self.count.new_full((), len(x)) if mask is None else mask.sum().double()
        here = None if mask is None else mask.reshape(-1, 1)
        # Entries keep their precision: only the sums need more digits.
        coordinates = self.basis.coordinates(_only(here, x))
        first = coordinates.sum(0, dtype=torch.float64) / n.clamp(min=1)
        if self.equivariant:
            first[self.rep.n_even :] = 0
        squares = _only(here, (coordinates - first.to(x.dtype)).square_())
        second = squares.sum(0, dtype=torch.float64) / n.clamp(min=1)
        first, second = first * self.basis.scale, second * self.basis.scale**2
        share = n / (self.count + n).clamp(min=1)
        shift = first - self.coord_mean
        self.coord_var += share * (second - self.coord_var + shift.square() * (1 - share))
        self.coord_mean += share * shift
        self.count += n
        self._write_out()

    def sums(self) -> Tensor:
        """The statistics as sums [2 d + 1], which can be added over several normalisers: the count,
        the sum of the coordinates and that of their squares."""
        squares = self.coord_var + self.coord_mean.square()
        return torch.cat((self.count[None], self.count * self.coord_mean, self.count * squares))

    @torch.no_grad()
    def load_sums(self, sums: Tensor) -> None:
        """Replace the statistics by those of these sums (see `sums`)."""
        count, first, squares = sums.split((1, self.rep.dim, self.rep.dim))
        self.count.copy_(count[0])
        self.coord_mean.copy_(first / count.clamp(min=1))
        self.coord_var.copy_((squares / count.clamp(min=1) - self.coord_mean.square()).clamp(min=0))
        self._write_out()

    def _write_out(self) -> None:
        """Turn the coordinates' statistics into those of entries: the mean by the basis; both
        entries of a pair share their variance."""
        mean = self.basis.merge(self.coord_mean.split(self.basis.sizes)) * self.basis.scale
        a, b = self.source_coords
        variance = (self.coord_var[a] + self.coord_var[b]) / 2
        self.mean.copy_(mean)
        self.inverse_std.copy_((variance + self.eps).rsqrt())


def _only(rows: Tensor | None, x: Tensor) -> Tensor:
    return x if rows is None else torch.where(rows, x, 0.0)
