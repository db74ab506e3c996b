"""Samples categorical latents from a layer's product in one Triton kernel, and one for gradients.

    parities -> bias -> butterfly -> logits -> probabilities, noise -> one-hot variables

A program processes one row: all variables of both views.
"""

from typing import Any

from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import jit, tl
from swap.nn.categorical import Categoricals
from swap.nn.kernel_math import latent_tile, softmax


def run_forward(
    y: Tensor,
    bias: Tensor | None,
    noise: Tensor | None,
    logits: Tensor,
    z: Tensor,
    cfg: Categoricals,
    *,
    onward: Tensor | None = None,
    ends: Tensor | None = None,
) -> None:
    """Write `logits` and samples `z`, [N, V d] each, from parities y [V, N, d], the even part's
    bias [d], and noise [N, V d]. Without noise z is the most likely value.

    If `onward` [V, N, d] is given, the parities of z for the next step are written there, and are
    zero in rows where `ends` [N] is set.
    """
    triton_launch.launch(
        _forward_kernel,
        y.shape[1],
        *(y, bias, noise, logits, z, onward, ends),
        *(1 - cfg.unimix, cfg.unimix / cfg.classes),
        *(*y.stride()[:2], _step(noise), logits.stride(0), z.stride(0)),
        *((0, 0) if onward is None else onward.stride()[:2]),
        _step(ends),
        **_constants(y, cfg),
    )


def run_backward(
    logits: Tensor,
    dy: Tensor,
    cfg: Categoricals,
    *,
    dlogits: Tensor | None = None,
    dz: Tensor | None = None,
    donward: Tensor | None = None,
    ends: Tensor | None = None,
) -> None:
    """Write dy [V, N, d] from those gradients of `run_forward`'s results that are given."""
    triton_launch.launch(
        _backward_kernel,
        dy.shape[1],
        *(logits, dlogits, dz, donward, ends, dy),
        1 - cfg.unimix,
        *(logits.stride(0), _step(dlogits), _step(dz)),
        *((0, 0) if donward is None else donward.stride()[:2]),
        *(_step(ends), *dy.stride()[:2]),
        **_constants(dy, cfg),
    )


def _step(x: Tensor | None) -> int:
    return 0 if x is None else x.stride(0)


def _constants(y: Tensor, cfg: Categoricals) -> dict[str, Any]:
    variables = y.shape[-1] // cfg.classes
    return {
        "variables": variables,
        "classes": cfg.classes,
        "rows": triton_launch.padded(variables),
        "columns": triton_launch.padded(cfg.classes),
        "views": len(y),
    }


# --- Triton ---------------------------------------------------------------------------------------
@jit
def _forward_kernel(  # type: ignore[no-untyped-def]
    y,
    bias,
    noise,
    logits,
    z,
    onward,
    ends,
    kept,
    mixed,
    y_part,
    y_row,
    noise_row,
    logits_row,
    z_row,
    onward_part,
    onward_row,
    ends_row,
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    view, kind, entry, known = latent_tile(variables, classes, rows, columns, views)
    sign = tl.where(view == 0, 1.0, -1.0)
    x = tl.load(y + row * y_row + entry + 0 * view, mask=known, other=0.0).to(tl.float32)
    if bias is not None:
        x += tl.load(bias + entry + 0 * view, mask=known, other=0.0).to(tl.float32)
    if views == 2:
        odd = tl.load(y + y_part + row * y_row + entry + 0 * view, mask=known, other=0.0)
        x += odd.to(tl.float32) * sign
    at = view * (variables * classes) + entry
    tl.store(logits + row * logits_row + at, x, mask=known)
    score = softmax(x, known) * kept + mixed
    if noise is not None:
        score = tl.log(score) + tl.load(noise + row * noise_row + at, mask=known, other=0.0)
    best = tl.argmax(tl.where(known, score, float("-inf")), 2)
    hot = tl.where(kind == best[:, :, None], 1.0, 0.0)
    tl.store(z + row * z_row + at, hot, mask=known)
    if onward is not None:
        hot = tl.where((tl.load(ends + row * ends_row) != 0) | (known == 0), 0.0, hot)
        _store_parities(
            hot, onward + row * onward_row, onward_part, sign, variables, classes, views
        )


@jit
def _store_parities(  # type: ignore[no-untyped-def]
    x, to, part, sign, variables: tl.constexpr, classes: tl.constexpr, views: tl.constexpr
):
    variable = tl.arange(0, x.shape[1])[:, None]
    kind = tl.arange(0, x.shape[2])[None, :]
    known = (variable < variables) & (kind < classes)
    to += variable * classes + kind
    tl.store(to, tl.sum(x, 0), mask=known)
    if views == 2:
        tl.store(to + part, tl.sum(x * sign, 0), mask=known)


@jit
def _backward_kernel(  # type: ignore[no-untyped-def]
    logits,
    dlogits,
    dz,
    donward,
    ends,
    dy,
    kept,
    logits_row,
    dlogits_row,
    dz_row,
    donward_part,
    donward_row,
    ends_row,
    dy_part,
    dy_row,
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    view, _, entry, known = latent_tile(variables, classes, rows, columns, views)
    sign = tl.where(view == 0, 1.0, -1.0)
    at = view * (variables * classes) + entry
    d = tl.zeros([views, rows, columns], dtype=tl.float32)
    if donward is not None:
        goes_on = known & (tl.load(ends + row * ends_row) == 0)
        source = donward + row * donward_row + entry + 0 * view
        d += tl.load(source, mask=goes_on, other=0.0)
        if views == 2:
            d += tl.load(source + donward_part, mask=goes_on, other=0.0) * sign
    if dz is not None:
        d += tl.load(dz + row * dz_row + at, mask=known, other=0.0)
    p = softmax(tl.load(logits + row * logits_row + at, mask=known, other=0.0), known)
    d = d * kept
    d = p * (d - tl.sum(d * p, 2)[:, :, None])
    if dlogits is not None:
        d += tl.load(dlogits + row * dlogits_row + at, mask=known, other=0.0)
    d = tl.where(known, d, 0.0)
    _store_parities(d, dy + row * dy_row, dy_part, sign, variables, classes, views)
