"""Computes the world model's loss in six Triton launches, and five back; `Loss` is the same step by
step.

Each kernel gives one number per tick. A mirrored tick adds the same numbers in the same order:
pixels from either edge, entries in even and odd coordinates, variables view by view.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import padded
from swap.nn import Basis, Categoricals
from swap.world_model import loss_kernels

TILE = 1024
"""Number of ticks that are added up at a time."""


class LossWeights(NamedTuple):
    """The weights of the loss, in this order, and the kind of latent it compares."""

    latent: Categoricals
    terms: tuple[float, float, float, float]
    """Weights of the image and of each of three groups of entries."""
    dyn: float
    rep: float
    free_nats: float


class LossOutput(NamedTuple):
    loss: Tensor
    figures: Tensor
    """Means: an error for each term, then the KL, and the entropies of prior and posterior."""


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("loss", *tensors) and all(x.dtype == torch.float32 for x in tensors)


def compute_loss(
    guess: Sequence[Tensor],
    target: Sequence[Tensor],
    posterior: Tensor,
    prior: Tensor,
    valid: Tensor,
    bases: Sequence[Basis],
    cfg: LossWeights,
) -> LossOutput:
    """Returns loss and figures. `guess` and `target` hold an image [B, T, rows, columns] and
    entries [B, T, ...], each with a basis; logits are [B, T, z]; `valid` [B, T] says which ticks
    count."""
    return LossOutput(*_Loss.apply(valid, cfg, bases, [*target], posterior, prior, *guess))


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        valid: Tensor,
        cfg: LossWeights,
        bases: Sequence[Basis],
        target: list[Tensor],
        posterior: Tensor,
        prior: Tensor,
        *guess: Tensor,
    ) -> tuple[Tensor, Tensor]:
        ticks, terms = valid.numel(), len(guess)
        whole = (x.contiguous() for x in (posterior, prior, guess[0]))
        flat = [x.flatten(0, 1) for x in (*whole, *guess[1:], target[0].contiguous(), *target[1:])]
        logits, mine, theirs = flat[:2], flat[2 : 2 + terms], flat[2 + terms :]
        errors = prior.new_empty(terms + 3, ticks)
        rows, columns = mine[0].shape[1:]
        triton_launch.launch(
            loss_kernels.image_error, ticks, mine[0], theirs[0], errors[0], **_halves(rows, columns)
        )
        for k, basis in enumerate(bases, 1):
            a, b, factors = basis.gathers[:3]
            x, y = mine[k], theirs[k]
            triton_launch.launch(
                loss_kernels.entry_error,
                ticks,
                *(x, y, a, b, factors, errors[k], x.stride(0), y.stride(0)),
                width=x.shape[1],
                padded=padded(x.shape[1]),
            )
        triton_launch.launch(
            loss_kernels.divergence,
            ticks,
            *logits,
            errors[terms],
            ticks,
            *_mix(cfg),
            **_table(cfg.latent),
        )
        shares = prior.new_empty(terms + 2, ticks)
        figures, loss = prior.new_empty(terms + 3), prior.new_empty(())
        triton_launch.launch(
            loss_kernels.means,
            1,
            *(errors, valid.contiguous(), shares, figures, loss, ticks),
            *(*cfg.terms, cfg.dyn, cfg.rep, cfg.free_nats),
            tile=TILE,
            turns=-(-ticks // TILE),
        )
        ctx.save_for_backward(shares, *flat)
        ctx.cfg, ctx.shapes = cfg, [x.shape for x in (posterior, prior, *guess)]
        ctx.mark_non_differentiable(figures)
        return loss, figures

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dloss: Tensor, _: Any) -> Any:
        shares, *flat = ctx.saved_tensors
        cfg: LossWeights = ctx.cfg
        terms = len(shares) - 2
        logits, mine, theirs = flat[:2], flat[2 : 2 + terms], flat[2 + terms :]
        ticks = shares.shape[1]
        d = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in mine]
        for x, y, share, out in zip(mine, theirs, shares, d, strict=False):
            size = x[0].numel()
            tile = min(1024, padded(size))
            triton_launch.launch(
                loss_kernels.error_back,
                ticks * -(-size // tile),
                *(x, y, share, dloss, out, x.stride(0), y.stride(0)),
                size=size,
                tile=tile,
            )
        dlogits = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in logits]
        triton_launch.launch(
            loss_kernels.divergence_back,
            ticks,
            *(*logits, shares[terms], ticks, dloss, *dlogits, *_mix(cfg)),
            **_table(cfg.latent),
        )
        found = [x.view(shape) for x, shape in zip((*dlogits, *d), ctx.shapes, strict=True)]
        return None, None, None, None, *found


def _mix(cfg: LossWeights) -> tuple[float, float]:
    return 1 - cfg.latent.unimix, cfg.latent.unimix / cfg.latent.classes


def _halves(rows: int, columns: int) -> dict[str, int]:
    half = columns // 2
    sizes = {"high": padded(rows), "wide": padded(max(half, columns - half))}
    return {"rows": rows, "columns": columns, "half": half, **sizes}


def _table(latent: Categoricals) -> dict[str, Any]:
    variables = latent.variables // 2 if latent.equivariant else latent.variables
    return {
        "variables": variables,
        "classes": latent.classes,
        "rows": padded(variables),
        "columns": padded(latent.classes),
        "views": 2 if latent.equivariant else 1,
    }
