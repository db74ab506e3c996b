"""Normalises raw observations, turns them into even and odd coordinates, and applies a network.

`coordinates` and `forward` are separate, because a sample is collected once and learned from many
times: it is normalised and split only once.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.nn import MLP, RunningNorm, fused_basis
from swap.policy.network_registry import NETWORKS, NetworkSpec
from swap.symmetry import Rep


class NormalizedMLP(nn.Module):
    """A running normaliser followed by an MLP, or by another network of the registry."""

    net: nn.Module

    def __init__(
        self,
        rep: Rep,
        hidden: Sequence[int],
        rep_out: Rep,
        *,
        act: str,
        out_gain: float,
        equivariant: bool,
        network: str = "mlp",
    ) -> None:
        super().__init__()
        self.rep_in, self.rep_out = rep, rep_out
        self.norm = RunningNorm(rep, equivariant=equivariant)
        spec = NetworkSpec(rep, rep_out, tuple(hidden), act, out_gain, equivariant)
        self.net = NETWORKS[network](spec)
        self.fused_split = None
        if isinstance(self.net, MLP):
            self.fused_split = fused_basis.NormalizedSplit(rep, equivariant=equivariant)

    @property
    def divisible(self) -> bool:
        """Whether a batch may be divided; a user's network may look at all rows together."""
        return isinstance(self.net, MLP)

    @property
    def width(self) -> int:
        """Width of the coordinates; where a kernel makes them, they are padded with zeros."""
        if self.fused_split is not None and fused_basis.usable(self.norm.mean):
            return self.fused_split.width
        return self.rep_in.dim

    def coordinates(self, x: Tensor) -> Tensor:
        """Turns raw observations [..., d] into what `forward` reads, [..., width]. A user's network
        reads observations in their own order."""
        norm = self.norm
        if self.fused_split is not None and fused_basis.usable(x):
            return self.fused_split(norm.checked(x), norm.mean, norm.inverse_std, norm.clip)
        x = norm(x)
        return self.net.layers[0].source.coordinates(x) if isinstance(self.net, MLP) else x

    def forward(self, x: Tensor) -> Tensor:
        """Applies the network to coordinates."""
        if not isinstance(self.net, MLP):
            out: Tensor = self.net(x)
            return out
        if x.shape[-1] == self.rep_in.dim:
            return self.net.from_parts(x.split(self.net.layers[0].source.sizes, -1))
        return self.net.from_padded(x)
