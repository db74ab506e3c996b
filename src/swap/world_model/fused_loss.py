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
from swap.device.triton_launch import jit, padded, tl
from swap.nn import Basis, Categoricals
from swap.nn.fused_draw import softmax

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
        triton_launch.launch(_image, ticks, mine[0], theirs[0], errors[0], **_halves(rows, columns))
        for k, basis in enumerate(bases, 1):
            a, b, factors = basis.gathers[:3]
            x, y = mine[k], theirs[k]
            triton_launch.launch(
                _entries,
                ticks,
                *(x, y, a, b, factors, errors[k], x.stride(0), y.stride(0)),
                width=x.shape[1],
                padded=padded(x.shape[1]),
            )
        triton_launch.launch(
            _divergence, ticks, *logits, errors[terms], ticks, *_mix(cfg), **_table(cfg.latent)
        )
        shares = prior.new_empty(terms + 2, ticks)
        figures, loss = prior.new_empty(terms + 3), prior.new_empty(())
        triton_launch.launch(
            _means,
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
                _difference,
                ticks * -(-size // tile),
                *(x, y, share, dloss, out, x.stride(0), y.stride(0)),
                size=size,
                tile=tile,
            )
        dlogits = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in logits]
        triton_launch.launch(
            _divergence_back,
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


# --- Triton ---------------------------------------------------------------------------------------
@jit
def _image(  # type: ignore[no-untyped-def]
    x,
    y,
    out,
    rows: tl.constexpr,
    columns: tl.constexpr,
    half: tl.constexpr,
    high: tl.constexpr,
    wide: tl.constexpr,
):
    """The sum of an image's squared errors; each pixel is first added to its mirror image."""
    n = tl.program_id(0).to(tl.int64) * (rows * columns)
    row, column = tl.arange(0, high)[:, None], tl.arange(0, wide)[None, :]
    left = (row < rows) & (column < half)
    right = (row < rows) & (column < columns - half)
    at = n + row * columns + column
    mirrored = n + row * columns + (columns - 1 - column)
    d = tl.load(x + at, mask=left, other=0.0) - tl.load(y + at, mask=left, other=0.0)
    e = tl.load(x + mirrored, mask=right, other=0.0) - tl.load(y + mirrored, mask=right, other=0.0)
    # Pairs are added first: the compiler may take two separate sums in different orders.
    tl.store(out + tl.program_id(0), tl.sum(tl.sum(d * d + e * e, 1), 0))


@jit
def _entries(  # type: ignore[no-untyped-def]
    x, y, a, b, factors, out, x_row, y_row, width: tl.constexpr, padded: tl.constexpr
):
    """The sum of a row's squared errors, in even and odd coordinates."""
    n = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, padded)
    known = k < width
    first = tl.load(a + k, mask=known, other=0)
    second = tl.load(b + k, mask=known, other=0)
    sign = tl.load(factors + k, mask=known, other=0.0).to(tl.float32)
    factor = tl.load(factors + width + k, mask=known, other=0.0).to(tl.float32)
    x += n * x_row
    y += n * y_row
    u = tl.load(x + first, mask=known, other=0.0) - tl.load(y + first, mask=known, other=0.0)
    v = tl.load(x + second, mask=known, other=0.0) - tl.load(y + second, mask=known, other=0.0)
    d = (u + v * sign) * factor
    tl.store(out + tl.program_id(0), tl.sum(d * d, 0))


@jit
def _divergence(  # type: ignore[no-untyped-def]
    posterior,
    prior,
    out,
    ticks,
    kept,
    mixed,
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    """A tick's KL, and the entropies of its prior and posterior."""
    n = tl.program_id(0)
    view = tl.arange(0, views)[:, None, None]
    variable = tl.arange(0, rows)[None, :, None]
    kind = tl.arange(0, columns)[None, None, :]
    known = (variable < variables) & (kind < classes) & (view < views)
    at = (n.to(tl.int64) * views + view) * (variables * classes) + variable * classes + kind
    s = softmax(tl.load(posterior + at, mask=known, other=0.0), known)
    r = softmax(tl.load(prior + at, mask=known, other=0.0), known)
    p, q = tl.where(known, s * kept + mixed, 1.0), tl.where(known, r * kept + mixed, 1.0)
    log_p, log_q = tl.log(p), tl.log(q)
    kl = tl.where(known, p * (log_p - log_q), 0.0)
    tl.store(out + n, tl.sum(tl.sum(tl.sum(kl, 2), 1), 0))
    tl.store(out + ticks + n, tl.sum(tl.sum(tl.sum(-q * log_q, 2), 1), 0))
    tl.store(out + 2 * ticks + n, tl.sum(tl.sum(tl.sum(-p * log_p, 2), 1), 0))


@jit
def _divergence_back(  # type: ignore[no-untyped-def]
    posterior,
    prior,
    shares,
    ticks,
    dloss,
    dposterior,
    dprior,
    kept,
    mixed,
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    n = tl.program_id(0)
    view = tl.arange(0, views)[:, None, None]
    variable = tl.arange(0, rows)[None, :, None]
    kind = tl.arange(0, columns)[None, None, :]
    known = (variable < variables) & (kind < classes) & (view < views)
    at = (n.to(tl.int64) * views + view) * (variables * classes) + variable * classes + kind
    scale = tl.load(dloss) * kept
    to_prior = tl.load(shares + n) * scale
    to_posterior = tl.load(shares + ticks + n) * scale
    s = softmax(tl.load(posterior + at, mask=known, other=0.0), known)
    r = softmax(tl.load(prior + at, mask=known, other=0.0), known)
    p, q = tl.where(known, s * kept + mixed, 1.0), tl.where(known, r * kept + mixed, 1.0)
    d = tl.where(known, (tl.log(p) - tl.log(q) + 1.0) * to_posterior, 0.0)
    tl.store(dposterior + at, s * (d - tl.sum(d * s, 2)[:, :, None]), mask=known)
    d = tl.where(known, -(p / q) * to_prior, 0.0)
    tl.store(dprior + at, r * (d - tl.sum(d * r, 2)[:, :, None]), mask=known)


@jit
def _difference(  # type: ignore[no-untyped-def]
    x, y, share, dloss, out, x_row, y_row, size: tl.constexpr, tile: tl.constexpr
):
    """The gradient of the squared errors: twice the error, times the weight of its tick."""
    parts: tl.constexpr = (size + tile - 1) // tile
    n = (tl.program_id(0) // parts).to(tl.int64)
    k = (tl.program_id(0) % parts) * tile + tl.arange(0, tile)
    known = k < size
    d = tl.load(x + n * x_row + k, mask=known, other=0.0)
    d -= tl.load(y + n * y_row + k, mask=known, other=0.0)
    scale = 2.0 * tl.load(share + n) * tl.load(dloss)
    tl.store(out + n * size + k, d * scale, mask=known)


@jit
def _means(  # type: ignore[no-untyped-def]
    errors,
    valid,
    shares,
    figures,
    loss,
    ticks,
    weight0,
    weight1,
    weight2,
    weight3,
    dyn,
    rep,
    free_nats,
    tile: tl.constexpr,
    turns: tl.constexpr,
):
    """Means over the valid ticks, and the weight of each tick in the gradient of each term."""
    many = tl.zeros([tile], dtype=tl.float32)
    for turn in range(turns):
        n = turn * tile + tl.arange(0, tile)
        many += tl.load(valid + n, mask=n < ticks, other=0).to(tl.float32)
    valid_ticks = tl.maximum(tl.sum(many, 0), 1.0)
    whole = 0.0
    for k in tl.static_range(7):
        # Four errors, the KL, and two entropies, which are only reported.
        weight = weight0
        if k == 1:
            weight = weight1
        elif k == 2:
            weight = weight2
        elif k == 3:
            weight = weight3
        elif k == 4:
            weight = dyn
        total = tl.zeros([tile], dtype=tl.float32)
        bounded = tl.zeros([tile], dtype=tl.float32)
        for turn in range(turns):
            n = turn * tile + tl.arange(0, tile)
            known = n < ticks
            counts = tl.load(valid + n, mask=known, other=0).to(tl.float32) / valid_ticks
            x = tl.load(errors + k * ticks + n, mask=known, other=0.0)
            total += x * counts
            if k == 4:
                bounded += tl.maximum(x, free_nats) * counts
                counts = tl.where(x >= free_nats, counts, 0.0)
                tl.store(shares + (k + 1) * ticks + n, counts * rep, mask=known)
            if k < 5:
                tl.store(shares + k * ticks + n, counts * weight, mask=known)
        mean = tl.sum(total, 0)
        tl.store(figures + k, mean)
        if k < 4:
            whole += mean * weight
        elif k == 4:
            whole += tl.sum(bounded, 0) * (dyn + rep)
    tl.store(loss, whole)
