"""Samples paired categorical latents from given noise, and computes their KL.

The mirror swaps variables, not classes: variable i of the left view with variable i of the right.
(If it swapped classes inside a variable, that variable could not prefer one of them in a symmetric
scene.) Noise is an argument, so that mirrored noise makes a mirrored rollout.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from swap.errors import UserError
from swap.nn.stacked import pointwise, split_views
from swap.nn.views import halves, views_of
from swap.symmetry import Rep, regular


@dataclass(frozen=True)
class Categoricals:
    """`variables` independent one-hot variables of `classes`; logits and samples are flat tensors.

    Probabilities are mixed with a small share (`unimix`) of the uniform distribution, which bounds
    every KL.
    """

    variables: int = 32
    classes: int = 32
    unimix: float = 0.01
    equivariant: bool = True

    def __post_init__(self) -> None:
        halves(self.variables, "variables")
        if self.classes < 2:
            raise UserError(f"classes={self.classes} leaves no choice; use 2 or more")
        if not 0 <= self.unimix < 1:
            raise UserError(f"unimix={self.unimix} is no fraction; use 0 or more and less than 1")

    @property
    def dim(self) -> int:
        return self.variables * self.classes

    @property
    def rep(self) -> Rep:
        return regular(self.dim // 2)

    def noise(self, *lead: int, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Gumbel noise for `sample`, [..., dim]."""
        uniform = torch.rand(
            *lead, self.dim, dtype=like.dtype, device=like.device, generator=generator
        )
        return -torch.log(-torch.log(uniform.clamp_min(torch.finfo(like.dtype).tiny)))

    def log_probs(self, logits: Tensor) -> tuple[Tensor, ...]:
        """Log-probabilities of each view [..., variables, classes], with `unimix` mixed in."""
        self._check(logits)
        mixed = []
        for view in views_of(logits, self.equivariant):
            p = F.softmax(view.unflatten(-1, (-1, self.classes)), -1)
            mixed.append(torch.log(p * (1 - self.unimix) + self.unimix / self.classes))
        return tuple(mixed)

    def sample(self, logits: Tensor, noise: Tensor) -> Tensor:
        """One-hot samples [..., dim]; gradients pass straight through to the probabilities."""
        return self._choose(logits, noise)

    def mode(self, logits: Tensor) -> Tensor:
        """The most likely one-hot values, with the same gradients as `sample`."""
        return self._choose(logits, None)

    def _choose(self, logits: Tensor, noise: Tensor | None) -> Tensor:
        self._check(logits)
        p = pointwise(self._probs, split_views(logits, self.equivariant))
        # An argmax does not depend on the order of rows, so both views can share one tensor now.
        scores = p if noise is None else pointwise(torch.log, p) + noise.view_as(p)
        rows = (p.unflatten(-1, (-1, self.classes)), scores.unflatten(-1, (-1, self.classes)))
        return _OneHot.apply(*rows).view_as(logits)

    def _check(self, logits: Tensor) -> None:
        if logits.shape[-1] != self.dim:
            raise UserError(
                f"{self.variables} variables of {self.classes} classes need {self.dim} logits, "
                f"got {logits.shape[-1]}; pass [..., {self.dim}]"
            )

    def _probs(self, logits: Tensor) -> Tensor:
        p = F.softmax(logits.unflatten(-1, (-1, self.classes)), -1)
        return (p * (1 - self.unimix) + self.unimix / self.classes).flatten(-2)

    def kl(self, logits: Tensor, other: Tensor) -> Tensor:
        """KL[p(logits) || p(other)], summed over the variables: [...]."""
        pairs = zip(self.log_probs(logits), self.log_probs(other), strict=True)
        return _add(*((p.exp() * (p - q)).flatten(-2).sum(-1) for p, q in pairs))

    def entropy(self, logits: Tensor) -> Tensor:
        return _add(*(-(p.exp() * p).flatten(-2).sum(-1) for p in self.log_probs(logits)))

    def log_prob(self, logits: Tensor, z: Tensor) -> Tensor:
        """ln p(z) of one-hot values z."""
        pairs = zip(self.log_probs(logits), views_of(z, self.equivariant), strict=True)
        return _add(*((p.flatten(-2) * v).sum(-1) for p, v in pairs))


class _OneHot(Function):
    """Puts 1 at the class with the highest score, 0 elsewhere [..., classes]; the gradient goes to
    the probabilities."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, scores: Tensor) -> Tensor:
        return torch.zeros_like(p).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> Any:
        return grad[0], None


def _add(*views: Tensor) -> Tensor:
    return views[0] if len(views) == 1 else views[0] + views[1]
