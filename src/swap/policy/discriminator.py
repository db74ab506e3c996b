"""Scores how much two successive frames look like the reference motion, the same for their mirror
image."""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.policy.normalized_mlp import NormalizedMLP
from swap.symmetry import Rep, trivial

OUT_GAIN = 0.1
"""The first scores are near zero, between the two answers."""


class Discriminator(nn.Module):
    """The paper's D_ψ(s, s'): a network with one invariant output, +1 for the reference, -1 for
    the policy."""

    def __init__(self, frame: Rep, hidden: Sequence[int], *, act: str, equivariant: bool) -> None:
        """`frame`: how one frame mirrors; a pair is two of them side by side."""
        super().__init__()
        self.mlp = NormalizedMLP(
            frame * 2, hidden, trivial(1), act=act, out_gain=OUT_GAIN, equivariant=equivariant
        )

    def coordinates(self, pair: Tensor) -> Tensor:
        """Raw pairs, end to end -> normalised, in even and odd coordinates; both [..., 2 d]."""
        return self.mlp.coordinates(pair)

    def forward(self, x: Tensor) -> Tensor:
        """Coordinates -> score [...]."""
        return self.mlp(x).squeeze(-1)


def style_reward(score: Tensor) -> Tensor:
    """1 for what the discriminator takes for the reference, 0 from a score of -1 downwards."""
    return (1 - (score - 1).square() / 4).clamp(min=0)
