"""Categorical latents from the product to the sample, as one Triton kernel each way.

    parities -> bias -> butterfly -> logits -> probabilities, noise -> one-hot variables

A program does a row: all variables of both views. The views go through the same lines, each with
its own sums.
"""

from typing import Any

from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import jit, tl
from swap.nn.categorical import Categoricals


def forth(
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
    """y [V, N, d], bias [d] of the even part, and noise [N, V d] -> logits and z, [N, V d] each.

    Also written, if asked for: the parities [V, N, d] of z for the next step, `onward`, which are
    zero in rows that are in `ends` [N]. Without noise z is the likeliest.
    """
    triton_launch.launch(
        _forth,
        y.shape[1],
        *(y, bias, noise, logits, z, onward, ends),
        *(1 - cfg.unimix, cfg.unimix / cfg.classes),
        *(*y.stride()[:2], _step(noise), logits.stride(0), z.stride(0)),
        *((0, 0) if onward is None else onward.stride()[:2]),
        _step(ends),
        **_constants(y, cfg),
    )


def back(
    logits: Tensor,
    dy: Tensor,
    cfg: Categoricals,
    *,
    dlogits: Tensor | None = None,
    dz: Tensor | None = None,
    donward: Tensor | None = None,
    ends: Tensor | None = None,
) -> None:
    """Writes dy [V, N, d] from the gradients of `forth`'s results, those that there are."""
    triton_launch.launch(
        _back,
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
        "both": len(y) == 2,
    }


# --- Triton ---------------------------------------------------------------------------------------
@jit
def _softmax(x, known):  # type: ignore[no-untyped-def]
    """Along the classes; what is no class has no share."""
    top = tl.max(tl.where(known, x, float("-inf")), 1)
    top = tl.where(top == float("-inf"), 0.0, top)[:, None]  # of a row that is no variable
    e = tl.where(known, tl.exp(x - top), 0.0)
    total = tl.sum(e, 1)
    return e / tl.where(total > 0, total, 1.0)[:, None]


@jit
def _choose(x, noise, offset, known, kept, mixed):  # type: ignore[no-untyped-def]
    """Logits of a view -> one-hot."""
    score = _softmax(x, known) * kept + mixed
    if noise is not None:
        score = tl.log(score) + tl.load(noise + offset, mask=known, other=0.0)
    best = tl.argmax(tl.where(known, score, float("-inf")), 1)
    at = tl.arange(0, x.shape[1])
    return tl.where(at[None, :] == best[:, None], 1.0, 0.0)


@jit
def _forth(  # type: ignore[no-untyped-def]
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
    both: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    variable, kind = tl.arange(0, rows), tl.arange(0, columns)
    known = (variable < variables)[:, None] & (kind < classes)[None, :]
    at = variable[:, None] * classes + kind[None, :]
    even = tl.load(y + row * y_row + at, mask=known, other=0.0).to(tl.float32)
    if bias is not None:
        even += tl.load(bias + at, mask=known, other=0.0).to(tl.float32)
    left = even
    if both:
        odd = tl.load(y + y_part + row * y_row + at, mask=known, other=0.0).to(tl.float32)
        left = even + odd
        right = even - odd
        tl.store(logits + row * logits_row + variables * classes + at, right, mask=known)
        there = row * noise_row + variables * classes + at
        z_right = _choose(right, noise, there, known, kept, mixed)
        tl.store(z + row * z_row + variables * classes + at, z_right, mask=known)
    tl.store(logits + row * logits_row + at, left, mask=known)
    z_left = _choose(left, noise, row * noise_row + at, known, kept, mixed)
    tl.store(z + row * z_row + at, z_left, mask=known)
    if onward is not None:
        ended = tl.load(ends + row * ends_row) != 0
        to = onward + row * onward_row + at
        sum_z = z_left
        if both:
            sum_z = z_left + z_right
            tl.store(to + onward_part, tl.where(ended, 0.0, z_left - z_right), mask=known)
        tl.store(to, tl.where(ended, 0.0, sum_z), mask=known)


@jit
def _view_back(  # type: ignore[no-untyped-def]
    logits, dlogits, dz, more, there, dlogits_at, dz_at, known, kept
):
    """The gradient of one view's logits; `more` comes on top of that of z."""
    d = more
    if dz is not None:
        d += tl.load(dz + dz_at, mask=known, other=0.0)
    p = _softmax(tl.load(logits + there, mask=known, other=0.0), known)
    d = d * kept
    d = p * (d - tl.sum(d * p, 1)[:, None])
    if dlogits is not None:
        d += tl.load(dlogits + dlogits_at, mask=known, other=0.0)
    return d


@jit
def _back(  # type: ignore[no-untyped-def]
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
    both: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    variable, kind = tl.arange(0, rows), tl.arange(0, columns)
    known = (variable < variables)[:, None] & (kind < classes)[None, :]
    at = variable[:, None] * classes + kind[None, :]
    more = tl.zeros([rows, columns], dtype=tl.float32)
    other = tl.zeros([rows, columns], dtype=tl.float32)
    if donward is not None:
        goes_on = known & (tl.load(ends + row * ends_row) == 0)
        source = donward + row * donward_row + at
        more = tl.load(source, mask=goes_on, other=0.0)
        if both:
            odd = tl.load(source + donward_part, mask=goes_on, other=0.0)
            other = more - odd
            more = more + odd
    l_at, dl_at, dz_at = row * logits_row + at, row * dlogits_row + at, row * dz_row + at
    left = _view_back(logits, dlogits, dz, more, l_at, dl_at, dz_at, known, kept)
    to = dy + row * dy_row + at
    if both:
        far = variables * classes
        right = _view_back(
            logits, dlogits, dz, other, l_at + far, dl_at + far, dz_at + far, known, kept
        )
        tl.store(to, left + right, mask=known)
        tl.store(to + dy_part, left - right, mask=known)
    else:
        tl.store(to, left, mask=known)
