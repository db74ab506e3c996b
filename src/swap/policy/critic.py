"""Normalised observations -> the return to expect, the same for a scene and its mirror image."""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.nn import MLP
from swap.nn.parts import Parts
from swap.symmetry import Rep, trivial


class Critic(nn.Module):
    """An MLP with one invariant output."""

    def __init__(self, rep: Rep, hidden: Sequence[int], *, act: str, equivariant: bool) -> None:
        super().__init__()
        self.net = MLP(rep, hidden, trivial(1), act=act, equivariant=equivariant)

    def forward(self, parts: Parts) -> Tensor:
        """Parts of the input (`net.split`) -> [...]."""
        return self.net.from_parts(parts).squeeze(-1)
