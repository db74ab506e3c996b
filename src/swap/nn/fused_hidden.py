"""Fuses everything between two matrix products into one Triton kernel, forward and backward.

    parities -> bias or norm -> butterfly -> activation -> butterfly -> parities

As separate operations, an equivariant layer moves its features through memory five times as often
as a plain one; fused, equally often. The mirror stays exact: it only changes the signs of odd
entries, so sums of squares stay the same, and both views run through the same code.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import jit, tl
from swap.nn.init import activation

TILE = 4096
"""How many numbers of a view a program holds at a time."""
PROGRAMS = 528
"""The most programs that share the backward pass; each has its own sums for bias or gain."""
ACTIVATIONS = {"identity": 0, "relu": 1, "elu": 2, "silu": 3, "tanh": 4}


class HiddenCfg(NamedTuple):
    """What the kernel does between two products, apart from the tensors."""

    act: str = "identity"
    scale: float = 1.0
    """Factor of the parities, applied first: the scales of the bases, which `Linear` folds into its
    weights."""
    bias_scale: float = 1.0
    eps: float = 0.0
    """The norm's eps; there is a norm if there is a gain."""
    join: bool = True
    """Return parities; otherwise the features themselves."""


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("hidden", *tensors)


def hidden(
    y: Tensor, cfg: HiddenCfg, bias: Tensor | None = None, gain: Tensor | None = None
) -> Tensor:
    """Turn parities [V, N, d] into parities [V, N, d], or into features [N, V d] if not `join`.

    `bias` [d] is added to the even part; with a `gain` [d] there is an RMS norm over the whole row.
    """
    out: Tensor = _Hidden.apply(y, bias, gain, cfg)
    return out


class _Hidden(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, y: Tensor, bias: Tensor | None, gain: Tensor | None, cfg: HiddenCfg
    ) -> Tensor:
        ctx.save_for_backward(y, bias, gain)
        ctx.cfg = cfg
        views, rows, width = y.shape
        out = y.new_empty(y.shape if cfg.join else (rows, views * width))
        run_forward(y, out if cfg.join else parts_of(out, views), cfg, bias=bias, gain=gain)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        y, bias, gain = ctx.saved_tensors
        return *_HiddenBack.apply(dout, y, bias, gain, ctx.cfg), None


class _HiddenBack(torch.autograd.Function):
    """The gradient, which can be differentiated again, as a discriminator's penalty needs."""

    @staticmethod
    def forward(
        ctx: Any,
        dout: Tensor,
        y: Tensor,
        bias: Tensor | None,
        gain: Tensor | None,
        cfg: HiddenCfg,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        ctx.save_for_backward(dout, y, bias, gain)
        ctx.cfg = cfg
        ctx.set_materialize_grads(False)
        dy = torch.empty_like(y)
        dout = dout if dout.stride(-1) == 1 else dout.contiguous()
        parts = dout if cfg.join else parts_of(dout, len(y))
        sums = run_backward(y, parts, dy, cfg, bias=bias, gain=gain)
        total = None if sums is None else sums.sum(0)
        return (
            dy,
            None if bias is None or total is None else total.to(bias.dtype),
            None if gain is None or total is None else total.to(gain.dtype),
        )

    @staticmethod
    def backward(ctx: Any, ddy: Tensor, ddbias: Any, ddgain: Any) -> Any:
        dout, y, bias, gain = ctx.saved_tensors
        cfg: HiddenCfg = ctx.cfg
        straight = cfg.act in ("identity", "relu") and gain is None and ddbias is None
        if straight and cfg.join and ddy is not None:
            # Piecewise linear, and butterfly * slope * butterfly is symmetric: `back` serves again.
            again = torch.empty_like(y)
            run_backward(y, ddy.contiguous(), again, cfg, bias=bias)
            return again, None, None, None, None
        return *_second_order((dout, y, bias, gain), (ddy, ddbias, ddgain), cfg), None


def _second_order(
    given: Sequence[Tensor | None], seeds: Sequence[Tensor | None], cfg: HiddenCfg
) -> list[Tensor | None]:
    """The gradients of (dout, y, bias, gain), given those of (dy, dbias, dgain), computed with
    torch operations."""
    with torch.enable_grad():
        dout, y, bias, gain = (None if x is None else x.detach().requires_grad_() for x in given)
        assert dout is not None
        assert y is not None
        pairs = zip((y, bias, gain), seeds, strict=True)
        asked = [(x, seed) for x, seed in pairs if x is not None and seed is not None]
        out = plain_hidden(y, cfg, bias, gain)
        first = torch.autograd.grad(out, [x for x, _ in asked], dout, create_graph=True)
    inputs = [x for x in (dout, y, bias, gain) if x is not None]
    found = iter(torch.autograd.grad(first, inputs, [s for _, s in asked], allow_unused=True))
    return [None if x is None else next(found) for x in given]


def plain_hidden(
    y: Tensor, cfg: HiddenCfg, bias: Tensor | None = None, gain: Tensor | None = None
) -> Tensor:
    """The same as `hidden`, with torch operations."""
    parts = [part * cfg.scale for part in y]
    if bias is not None:
        parts[0] = parts[0] + bias * cfg.bias_scale
    if gain is not None:
        square = sum(part.square().sum(-1, keepdim=True) for part in parts)
        inverse = torch.rsqrt(square / y.shape[-1] + cfg.eps)
        parts = [part * inverse * gain for part in parts]
    if len(parts) == 2:
        parts = [parts[0] + parts[1], parts[0] - parts[1]]
    parts = [activation(cfg.act)(part) for part in parts]
    if not cfg.join:
        return torch.cat(parts, -1)
    if len(parts) == 2:
        parts = [parts[0] + parts[1], parts[0] - parts[1]]
    return torch.stack(parts)


# --- without autograd, on tensors of the caller ---------------------------------------------------
def parts_of(x: Tensor, views: int) -> Tensor:
    """Flat features [N, V d] as views [V, N, d] of the same memory."""
    return x.unflatten(-1, (views, -1)).transpose(0, 1)


def run_forward(
    y: Tensor,
    out: Tensor,
    cfg: HiddenCfg,
    *,
    add: Tensor | None = None,
    bias: Tensor | None = None,
    gain: Tensor | None = None,
) -> None:
    """Write `out` from y, both [V, N, d] with gaps in any axis but the last. `add` is added to the
    parities before the norm."""
    programs, rows = _programs(y)
    triton_launch.launch(
        _forward_kernel,
        programs,
        *(y, add, bias, gain, out),
        *(y.shape[1], cfg.scale, cfg.bias_scale, cfg.eps),
        *_strides(y, add, out),
        **_constants(y, cfg, rows),
    )


def run_backward(
    y: Tensor,
    dout: Tensor,
    dy: Tensor,
    cfg: HiddenCfg,
    *,
    add: Tensor | None = None,
    bias: Tensor | None = None,
    gain: Tensor | None = None,
    sums: Tensor | None = None,
) -> Tensor | None:
    """Write dy. The rows of the returned tensor add up to the gradient of gain or bias.

    `sums` [programs, d], if given, are added to.
    """
    blocks, rows = _programs(y)
    turns = -(-blocks // PROGRAMS)
    programs, more = -(-blocks // turns), sums is not None
    if sums is None and (bias is not None or gain is not None):
        sums = y.new_empty(programs, y.shape[-1], dtype=torch.float32)
    triton_launch.launch(
        _backward_kernel,
        programs,
        *(y, add, bias, gain, dout, dy, sums),
        *(y.shape[1], cfg.scale, cfg.bias_scale, cfg.eps),
        *_strides(y, add, dout, dy),
        **_constants(y, cfg, rows),
        turns=turns,
        more=more,
    )
    return sums


def _programs(y: Tensor) -> tuple[int, int]:
    """How many programs share the rows, and how many rows each takes."""
    wide = triton_launch.padded(y.shape[-1])
    rows = max(1, TILE // (wide * len(y)))
    if y.shape[1] < rows * 132:  # few rows: many small programs are faster than few full ones
        rows = 1
    return -(-y.shape[1] // rows), rows


def _strides(*several: Tensor | None) -> list[int]:
    """The strides of each tensor, from part to part and from row to row."""
    for x in several:
        assert x is None or x.stride(-1) == 1 or x.shape[-1] == 1, "the last axis has gaps"
    return [step for x in several for step in ((0, 0) if x is None else x.stride()[:2])]


def _constants(y: Tensor, cfg: HiddenCfg, rows: int) -> dict[str, Any]:
    return {
        "width": y.shape[-1],
        "padded": triton_launch.padded(y.shape[-1]),
        "tile": rows,
        "both": len(y) == 2,
        "act": ACTIVATIONS[cfg.act],
        "join": cfg.join,
    }


# --- Triton ---------------------------------------------------------------------------------------
@jit
def activate(x, act: tl.constexpr):  # type: ignore[no-untyped-def]
    y = x
    if act == 1:
        y = tl.maximum(x, 0.0)
    elif act == 2:
        y = tl.where(x > 0, x, tl.exp(tl.minimum(x, 0.0)) - 1.0)
    elif act == 3:
        y = x / (1.0 + tl.exp(-x))
    elif act == 4:
        y = 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))
    return y


@jit
def slope(x, act: tl.constexpr):  # type: ignore[no-untyped-def]
    """The derivative of `activate`."""
    y = tl.full(x.shape, 1.0, tl.float32)
    if act == 1:
        y = tl.where(x > 0, 1.0, 0.0)
    elif act == 2:
        y = tl.where(x > 0, 1.0, tl.exp(tl.minimum(x, 0.0)))
    elif act == 3:
        s = 1.0 / (1.0 + tl.exp(-x))
        y = s * (1.0 + x * (1.0 - s))
    elif act == 4:
        t = 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))
        y = 1.0 - t * t
    return y


@jit
def _forward_kernel(  # type: ignore[no-untyped-def]
    y,
    add,
    bias,
    gain,
    out,
    n,
    scale,
    bias_scale,
    eps,
    y_part,
    y_row,
    add_part,
    add_row,
    out_part,
    out_row,
    width: tl.constexpr,
    padded: tl.constexpr,
    tile: tl.constexpr,
    both: tl.constexpr,
    act: tl.constexpr,
    join: tl.constexpr,
):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, padded)
    inside = (row < n)[:, None] & (column < width)[None, :]
    row = row.to(tl.int64)[:, None]
    at = y + row * y_row + column[None, :]
    even = tl.load(at, mask=inside, other=0.0).to(tl.float32) * scale
    odd = tl.zeros_like(even)
    if both:
        odd = tl.load(at + y_part, mask=inside, other=0.0).to(tl.float32) * scale
    if bias is not None:
        b = tl.load(bias + column, mask=column < width, other=0.0).to(tl.float32) * bias_scale
        even += b[None, :]
    if add is not None:
        more = add + row * add_row + column[None, :]
        even += tl.load(more, mask=inside, other=0.0).to(tl.float32)
        if both:
            odd += tl.load(more + add_part, mask=inside, other=0.0).to(tl.float32)
    if gain is not None:
        g = tl.load(gain + column, mask=column < width, other=0.0).to(tl.float32)[None, :]
        square = tl.sum(even * even + odd * odd, 1)
        inverse = (1.0 / tl.sqrt(square / width + eps))[:, None]
        even = even * inverse * g
        odd = odd * inverse * g
    to = out + row * out_row + column[None, :]
    kind = out.dtype.element_ty
    if both:
        left = activate(even + odd, act)
        right = activate(even - odd, act)
        if join:
            tl.store(to, (left + right).to(kind), mask=inside)
            tl.store(to + out_part, (left - right).to(kind), mask=inside)
        else:
            tl.store(to, left.to(kind), mask=inside)
            tl.store(to + out_part, right.to(kind), mask=inside)
    else:
        tl.store(to, activate(even, act).to(kind), mask=inside)


@jit
def _backward_kernel(  # type: ignore[no-untyped-def]
    y,
    add,
    bias,
    gain,
    dout,
    dy,
    sums,
    n,
    scale,
    bias_scale,
    eps,
    y_part,
    y_row,
    add_part,
    add_row,
    dout_part,
    dout_row,
    dy_part,
    dy_row,
    width: tl.constexpr,
    padded: tl.constexpr,
    tile: tl.constexpr,
    both: tl.constexpr,
    act: tl.constexpr,
    join: tl.constexpr,
    turns: tl.constexpr,
    more: tl.constexpr,
):
    column = tl.arange(0, padded)
    known = column < width
    total = tl.zeros([padded], dtype=tl.float32)
    b = tl.zeros([padded], dtype=tl.float32)
    g = tl.full([padded], 1.0, dtype=tl.float32)
    if bias is not None:
        b = tl.load(bias + column, mask=known, other=0.0).to(tl.float32) * bias_scale
    if gain is not None:
        g = tl.load(gain + column, mask=known, other=0.0).to(tl.float32)
    for turn in range(turns):
        row = (tl.program_id(0) * turns + turn) * tile + tl.arange(0, tile)
        inside = (row < n)[:, None] & known[None, :]
        row = row.to(tl.int64)[:, None]
        at = y + row * y_row + column[None, :]
        even = tl.load(at, mask=inside, other=0.0).to(tl.float32) * scale
        odd = tl.zeros_like(even)
        if both:
            odd = tl.load(at + y_part, mask=inside, other=0.0).to(tl.float32) * scale
        if bias is not None:
            even += tl.where(inside, b[None, :], 0.0)
        if add is not None:
            other = add + row * add_row + column[None, :]
            even += tl.load(other, mask=inside, other=0.0).to(tl.float32)
            if both:
                odd += tl.load(other + add_part, mask=inside, other=0.0).to(tl.float32)
        inverse = tl.full([tile, 1], 1.0, dtype=tl.float32)
        if gain is not None:
            square = tl.sum(even * even + odd * odd, 1)
            inverse = (1.0 / tl.sqrt(square / width + eps))[:, None]
            even = even * inverse  # from here on normalised
            odd = odd * inverse
        source = dout + row * dout_row + column[None, :]
        d = tl.load(source, mask=inside, other=0.0).to(tl.float32)
        d_odd = tl.zeros_like(d)
        if both:
            other_d = tl.load(source + dout_part, mask=inside, other=0.0).to(tl.float32)
            d_left = d
            d_right = other_d
            if join:
                d_left = d + other_d
                d_right = d - other_d
            d_left = d_left * slope((even + odd) * g[None, :], act)
            d_right = d_right * slope((even - odd) * g[None, :], act)
            d = d_left + d_right
            d_odd = d_left - d_right
        else:
            d = d * slope(even * g[None, :], act)
        if gain is not None:
            total += tl.sum(d * even + d_odd * odd, 0)
            d = d * g[None, :]
            d_odd = d_odd * g[None, :]
            mean = (tl.sum(d * even + d_odd * odd, 1) / width)[:, None]
            d = inverse * (d - even * mean)
            d_odd = inverse * (d_odd - odd * mean)
        elif bias is not None:
            total += tl.sum(d, 0) * bias_scale
        to = dy + row * dy_row + column[None, :]
        kind = dy.dtype.element_ty
        tl.store(to, (d * scale).to(kind), mask=inside)
        if both:
            tl.store(to + dy_part, (d_odd * scale).to(kind), mask=inside)
    if sums is not None:
        place = sums + tl.program_id(0) * width + column
        if more:
            total += tl.load(place, mask=known, other=0.0)
        tl.store(place, total, mask=known)
