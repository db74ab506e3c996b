"""The actor: gives a distribution over actions, which mirrors when the observations do."""

from collections.abc import Sequence

from torch import Tensor, nn

from swap.nn import Gaussian, GaussianHead
from swap.policy.normalized_mlp import NormalizedMLP
from swap.symmetry import Rep

OUT_GAIN = 0.01
"""Gain of the last layer: the first actions are noise around the default pose, whatever the robot
sees."""


class Actor(nn.Module):
    """A network for the mean, and a std that does not depend on the state."""

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
        network: str = "mlp",
    ) -> None:
        super().__init__()
        self.mlp = NormalizedMLP(
            rep,
            hidden,
            action,
            act=act,
            out_gain=OUT_GAIN,
            equivariant=equivariant,
            network=network,
        )
        self.head = GaussianHead(
            action, init_std=init_std, min_std=min_std, max_std=max_std, equivariant=equivariant
        )

    def forward(self, x: Tensor) -> Gaussian:
        """Returns the distribution for coordinates of the input (`mlp.coordinates`)."""
        return self.head(self.mlp(x))

    def rebuild(self, mean: Tensor, std_per_orbit: Tensor) -> Gaussian:
        """Rebuilds a distribution that this actor once gave, from its stored mean and std."""
        return Gaussian(mean, std_per_orbit, self.head.orbits)
