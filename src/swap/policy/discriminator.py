"""Scores how much two successive frames look like the reference motion, the same for their mirror
image."""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.policy.normalized_mlp import NormalizedMLP
from swap.symmetry import Rep, trivial

OUT_GAIN = 0.1
"""Gain of the last layer: the first scores are near zero, between the targets +1 and -1."""


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
        """Turns raw, concatenated pairs into normalised even and odd coordinates; both are
        [..., 2 d]."""
        return self.mlp.coordinates(pair)

    def forward(self, x: Tensor) -> Tensor:
        """Coordinates -> score [...]."""
        return self.mlp(x).squeeze(-1)


def style_reward(score: Tensor) -> Tensor:
    """Reward of 1 where the score is that of the reference (+1), and 0 where it is -1 or less."""
    return (1 - (score - 1).square() / 4).clamp(min=0)
