"""Normalises raw observations, turns them into even and odd coordinates, and applies a network.

The two halves of the way are separate, because a sample is read once when it is collected and many
times when it is learned from: normalising and splitting are done once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from swap.nn import MLP, RunningNorm
from swap.policy.network_registry import NETWORKS, NetworkSpec
from swap.symmetry import Rep


class NormalizedMLP(nn.Module):
    """A running normaliser and an MLP behind it, or another network of the registry."""

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

    @property
    def width(self) -> int:
        return self.rep_in.dim

    def coordinates(self, x: Tensor) -> Tensor:
        """Raw [..., d] -> what `forward` reads, [..., d]. A network that is no MLP of ours reads
        observations in their own order."""
        x = self.norm(x)
        return torch.cat(self.net.split(x), -1) if isinstance(self.net, MLP) else x

    def forward(self, x: Tensor) -> Tensor:
        """Coordinates -> features."""
        if isinstance(self.net, MLP):
            return self.net.from_parts(x.split(self.net.layers[0].source.sizes, -1))
        out: Tensor = self.net(x)
        return out
