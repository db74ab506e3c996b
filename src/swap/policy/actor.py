"""Normalised observations -> a distribution over actions, mirrored when they are mirrored."""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.nn import MLP, Gaussian, GaussianHead
from swap.nn.parts import Parts
from swap.symmetry import Rep

OUT_GAIN = 0.01
"""The first actions are noise around the default pose, whatever the robot sees."""


class Actor(nn.Module):
    """An MLP for the mean, and a std that does not depend on the state."""

    def __init__(
        self,
        rep: Rep,
        action: Rep,
        hidden: Sequence[int],
        *,
        act: str,
        init_std: float,
        min_std: float,
        max_std: float,
        equivariant: bool,
    ) -> None:
        super().__init__()
        self.net = MLP(rep, hidden, action, act=act, out_gain=OUT_GAIN, equivariant=equivariant)
        self.head = GaussianHead(
            action, init_std=init_std, min_std=min_std, max_std=max_std, equivariant=equivariant
        )

    def forward(self, parts: Parts) -> Gaussian:
        """Parts of the input (`net.split`) -> the distribution."""
        return self.head(self.net.from_parts(parts))

    def past(self, mean: Tensor, std_per_orbit: Tensor) -> Gaussian:
        """A distribution this actor once gave, from what was kept of it."""
        return Gaussian(mean, std_per_orbit, self.head.orbits)
