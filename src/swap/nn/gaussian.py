"""The action distribution: the network gives the mean; the std is learned, tied and bounded."""

import math

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.nn.orbits import Orbits
from swap.symmetry import Rep

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class GaussianHead(nn.Module):
    """Makes a `Gaussian` from a mean [..., d]. Mirrored actions share one std: left equals right.

    The std stays in (min_std, max_std) by construction, so that no step can make it negative.
    """

    def __init__(
        self,
        rep: Rep,
        *,
        init_std: float = 1.0,
        min_std: float = 0.05,
        max_std: float = 2.0,
        equivariant: bool = True,
    ) -> None:
        super().__init__()
        if not 0 < min_std < init_std < max_std:
            raise UserError(
                f"init_std={init_std} must lie between min_std={min_std} and max_std={max_std}, "
                "all above 0"
            )
        self.rep, self.min_std, self.max_std = rep, min_std, max_std
        self.orbits = Orbits(rep, equivariant=equivariant)
        self.raw_std = nn.Parameter(torch.full((self.orbits.size,), self._raw(init_std)))

    def forward(self, mean: Tensor) -> "Gaussian":
        if mean.shape[-1] != self.rep.dim:
            raise UserError(
                f"actions have {self.rep.dim} entries, the mean {mean.shape[-1]}; "
                f"pass [..., {self.rep.dim}]"
            )
        return Gaussian(mean, self.std_per_orbit, self.orbits)

    @torch.no_grad()
    def limit(self, std: float) -> None:
        """Lower every larger std to `std`, in place."""
        if std < self.max_std:
            self.raw_std.clamp_(max=self._raw(std))

    def _raw(self, std: float) -> float:
        share = (std - self.min_std) / (self.max_std - self.min_std)
        return math.log(share / (1 - share))

    @property
    def std_per_orbit(self) -> Tensor:
        return self.min_std + (self.max_std - self.min_std) * torch.sigmoid(self.raw_std)


class Gaussian:
    """A diagonal normal distribution whose densities are invariant under the mirror."""

    def __init__(self, mean: Tensor, std_per_orbit: Tensor, orbits: Orbits) -> None:
        self.mean, self.std_per_orbit, self.orbits = mean, std_per_orbit, orbits

    @property
    def std(self) -> Tensor:
        """The standard deviations [d], in the action's order."""
        return self.orbits.merge(self.orbits.tied(self.std_per_orbit))

    def sample(self, noise: Tensor) -> Tensor:
        """mean + std * noise. Pass standard normal noise of the mean's shape; mirrored noise and
        mean give a mirrored sample."""
        return self.mean + self.std * noise

    def log_prob(self, action: Tensor) -> Tensor:
        """The log-density of an action [..., d]: [...]."""
        deviation = self.orbits.columns(action - self.mean)
        stds = self.orbits.tied(self.std_per_orbit)
        terms = tuple(
            -0.5 * (d / s).square() - torch.log(s) - _HALF_LOG_TAU
            for d, s in zip(deviation, stds, strict=True)
        )
        return self.orbits.sum(terms)

    def entropy(self) -> Tensor:
        """The entropy, a scalar: it is the same in every state."""
        stds = self.orbits.tied(self.std_per_orbit)
        return self.orbits.sum(tuple(torch.log(s) + 0.5 + _HALF_LOG_TAU for s in stds))

    def kl(self, other: "Gaussian") -> Tensor:
        """KL[self || other], [...]."""
        deviation = self.orbits.columns(self.mean - other.mean)
        stds = zip(
            self.orbits.tied(self.std_per_orbit), self.orbits.tied(other.std_per_orbit), strict=True
        )
        terms = tuple(
            torch.log(t / s) + (s.square() + d.square()) / (2 * t.square()) - 0.5
            for d, (s, t) in zip(deviation, stds, strict=True)
        )
        return self.orbits.sum(terms)
