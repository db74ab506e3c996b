"""The critic: estimates the expected return, the same for a scene and its mirror image."""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.policy.normalized_mlp import NormalizedMLP
from swap.symmetry import Rep, trivial

OUT_GAIN = 0.1
"""Gain of the last layer: the first values are near zero, so the first advantages come from rewards
alone."""


class Critic(nn.Module):
    """A network with one invariant output."""

    def __init__(
        self,
        rep: Rep,
        hidden: Sequence[int],
        *,
        act: str,
        equivariant: bool,
        network: str = "mlp",
    ) -> None:
        super().__init__()
        self.mlp = NormalizedMLP(
            rep,
            hidden,
            trivial(1),
            act=act,
            out_gain=OUT_GAIN,
            equivariant=equivariant,
            network=network,
        )

    def forward(self, x: Tensor) -> Tensor:
        """Returns the value [...] for coordinates of the input (`mlp.coordinates`)."""
        return self.mlp(x).squeeze(-1)
