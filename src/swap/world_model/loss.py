"""Computes the loss of eq. 9 and its figures.

Squared errors are summed, not averaged, over pixels and entries, as in Dreamer and WMP: a Gaussian
of variance 1/(2 weight). Sums are taken so that a mirrored batch gives the same bits (eq. 10).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from swap.nn import Basis, Categoricals
from swap.symmetry import Layout
from swap.validate import check_numbers
from swap.world_model import fused_loss
from swap.world_model.decoder import Reconstruction

TERMS = ("depth", "prop", "body", "foot")
FIGURES = ("loss", *TERMS, "kl", "prior_entropy", "posterior_entropy")


@dataclass(frozen=True)
class LossCfg:
    """The weight of each term."""

    depth: float = 1.0
    """Weight of squared depth errors, in the networks' range, summed over the pixels."""
    prop: float = 1.0
    """Weight of squared errors of proprioception, in the units of the observation."""
    body: float = 4.0
    """Weight of squared errors of body heights, in metres: 5 cm at every point are 2.9."""
    foot: float = 4.0
    """The same around the feet: 5 cm are 1.0."""
    dyn: float = 1.0
    """β of the KL that brings the prior to the posterior."""
    rep: float = 0.1
    """β of the KL that keeps the posterior predictable."""
    free_nats: float = 1.0
    """A KL below this is not penalised."""

    def __post_init__(self) -> None:
        check_numbers(self, "loss.", not_negative=(*TERMS, "dyn", "rep", "free_nats"))


class Loss(nn.Module):
    """The loss as means over the valid ticks; it has no parameters."""

    def __init__(self, cfg: LossCfg, latent: Categoricals, targets: Sequence[Layout]) -> None:
        super().__init__()
        self.cfg, self.latent = cfg, latent
        self.bases = nn.ModuleList(Basis(layout.rep) for layout in targets)

    def forward(
        self,
        guess: Reconstruction,
        target: Reconstruction,
        posterior: Tensor,
        prior: Tensor,
        valid: Tensor,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """All [B, T, ...], targets finite; `valid` [B, T] -> a scalar, and detached figures.

        `depth`, `prop`, `body`, `foot` are squared errors before their weights; `kl` is before the
        free nats.
        """
        if fused_loss.usable(*guess, *target, posterior, prior):
            return self._fused(guess, target, posterior, prior, valid)
        share = valid / valid.sum().clamp(min=1)

        def mean(x: Tensor) -> Tensor:
            return (share * x).sum()

        errors = [squares_of_image(guess.depth - target.depth)]
        for basis, x, y in zip(self.bases, guess[1:], target[1:], strict=True):
            errors.append(squares(basis, x - y))  # type: ignore[arg-type]
        figures = {name: mean(error) for name, error in zip(TERMS, errors, strict=True)}

        # Both have the same value; `dyn` gives a gradient to the prior, `rep` to the posterior.
        dyn = self.latent.kl(posterior.detach(), prior)
        rep = self.latent.kl(posterior, prior.detach())
        free = self.cfg.free_nats
        total = self.cfg.dyn * mean(dyn.clamp(min=free)) + self.cfg.rep * mean(rep.clamp(min=free))
        for name in TERMS:
            total = total + getattr(self.cfg, name) * figures[name]
        with torch.no_grad():
            figures["kl"] = mean(dyn)
            figures["prior_entropy"] = mean(self.latent.entropy(prior))
            figures["posterior_entropy"] = mean(self.latent.entropy(posterior))
        figures["loss"] = total
        return total, {name: x.detach() for name, x in figures.items()}

    def _fused(
        self,
        guess: Reconstruction,
        target: Reconstruction,
        posterior: Tensor,
        prior: Tensor,
        valid: Tensor,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The same by Triton's kernels."""
        cfg = self.cfg
        terms = cfg.depth, cfg.prop, cfg.body, cfg.foot
        weights = fused_loss.LossWeights(self.latent, terms, cfg.dyn, cfg.rep, cfg.free_nats)
        bases: list[Basis] = [*self.bases]
        loss, means = fused_loss.compute_loss(
            guess, target, posterior, prior, valid, bases, weights
        )
        names = (*TERMS, "kl", "prior_entropy", "posterior_entropy")
        return loss, dict(zip(names, means.unbind(), strict=True)) | {"loss": loss.detach()}


def squares(basis: Basis, error: Tensor) -> Tensor:
    """The sum of squares over the last axis, in even and odd coordinates: the basis is orthonormal,
    and the mirror moves none of its coordinates."""
    even, odd = (part.square().sum(-1) for part in basis.split(error))
    return (even + odd) * basis.scale**2


def squares_of_image(error: Tensor) -> Tensor:
    """The sum of squares over the last two axes: each half is summed from its own edge, then the
    halves are added."""
    half = error.shape[-1] // 2
    left, right = error[..., :half], error[..., half:].flip(-1)
    left, right = (side.square().flatten(-2).sum(-1) for side in (left, right))
    return left + right
