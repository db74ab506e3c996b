"""Computes a `GRUCell`'s next state from the gates' product in one Triton kernel, forward or back.

    parities of the gates -> norm -> butterfly -> reset, candidate, update -> the next state

A program processes one row: both views of the three gates. The mirror only changes the signs of
odd entries, so it does not change the norm, and both views run through the same code.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import jit, tl

PROGRAMS = 528
"""The most programs that share the backward pass; each has its own sums for the gain."""


class GateCfg(NamedTuple):
    """Constants of a cell."""

    eps: float
    update_bias: float


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("gates", *tensors)


def gated(y: Tensor, gain: Tensor, h: Tensor, cfg: GateCfg) -> Tensor:
    """The next state [N, V d] from the gates' parities [V, N, 3 d] and the state [N, V d]."""
    out: Tensor = _Gated.apply(y, gain, h, cfg)
    return out


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, gain: Tensor, h: Tensor, cfg: GateCfg) -> Tensor:
        ctx.save_for_backward(y, gain, h)
        ctx.cfg = cfg
        out = torch.empty_like(h, memory_format=torch.contiguous_format)
        run_forward(y, gain, h, out, cfg)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dout: Tensor) -> Any:
        y, gain, h = ctx.saved_tensors
        dy, dh = torch.empty_like(y), torch.empty_like(h, memory_format=torch.contiguous_format)
        sums = run_backward(y, gain, h, dy, dh, ctx.cfg, dout=dout.contiguous())
        return dy, sums.sum(0).to(gain.dtype), dh, None


# --- without autograd, on tensors of the caller ---------------------------------------------------
def run_forward(
    y: Tensor,
    gain: Tensor,
    h: Tensor,
    out: Tensor,
    cfg: GateCfg,
    *,
    fresh: Tensor | None = None,
    parities: Tensor | None = None,
    onward: Tensor | None = None,
    ends: Tensor | None = None,
) -> None:
    """Write the next state to `out` [N, V d], from the gates' parities y [V, N, 3 d] and h.

    Rows where `fresh` [N] is set start from a zero state. If given, `parities` [V, N, d] receives
    the new state's parities, and `onward` [V, N, d] those for the next step, which are zero in rows
    where `ends` [N] is set.
    """
    triton_launch.launch(
        _forward_kernel,
        y.shape[1],
        *(y, gain, h, fresh, out, parities, onward, ends),
        *(cfg.eps, cfg.update_bias),
        *(*y.stride()[:2], h.stride(0), _step(fresh), out.stride(0)),
        *(*_steps(parities), *_steps(onward), _step(ends)),
        **_constants(y),
    )


def run_backward(
    y: Tensor,
    gain: Tensor,
    h: Tensor,
    dy: Tensor,
    dh: Tensor,
    cfg: GateCfg,
    *,
    sums: Tensor | None = None,
    fresh: Tensor | None = None,
    dout: Tensor | None = None,
    dparities: Tensor | None = None,
    dnext: Tensor | None = None,
    donward: Tensor | None = None,
    ends: Tensor | None = None,
) -> Tensor:
    """Write dy and dh. The rows of the returned tensor add up to the gradient of the gain.

    `sums` [N, 3 d], if given, are added to. The incoming gradients are `dout` [N, V d] of the
    state, `dparities` [V, N, d] of its parities, and from the next step `dnext` [N, V d] and
    `donward` [V, N, d], which are ignored in rows where `ends` is set.
    """
    turns = 1 if sums is not None else -(-y.shape[1] // PROGRAMS)
    programs, more = -(-y.shape[1] // turns), sums is not None
    if sums is None:
        sums = y.new_empty(programs, y.shape[2], dtype=torch.float32)
    triton_launch.launch(
        _backward_kernel,
        programs,
        *(y, gain, h, fresh, dout, dparities, dnext, donward, ends, dy, dh, sums),
        *(cfg.eps, cfg.update_bias),
        *(*y.stride()[:2], h.stride(0), _step(fresh), _step(dout), *_steps(dparities)),
        *(_step(dnext), *_steps(donward), _step(ends), *dy.stride()[:2], dh.stride(0)),
        y.shape[1],
        **_constants(y),
        turns=turns,
        more=more,
    )
    return sums


def _step(x: Tensor | None) -> int:
    return 0 if x is None else x.stride(0)


def _steps(x: Tensor | None) -> tuple[int, int]:
    return (0, 0) if x is None else (x.stride(0), x.stride(1))


def _constants(y: Tensor) -> dict[str, Any]:
    width = y.shape[-1] // 3
    return {"width": width, "padded": triton_launch.padded(width), "both": len(y) == 2}


# --- Triton ---------------------------------------------------------------------------------------
@jit
def sigmoid(x):  # type: ignore[no-untyped-def]
    return 1.0 / (1.0 + tl.exp(-x))


@jit
def tanh(x):  # type: ignore[no-untyped-def]
    return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))


@jit
def _gate(at, part, known, both: tl.constexpr):  # type: ignore[no-untyped-def]
    """Load the even and odd entries of one gate of a row."""
    even = tl.load(at, mask=known, other=0.0).to(tl.float32)
    odd = tl.zeros_like(even)
    if both:
        odd = tl.load(at + part, mask=known, other=0.0).to(tl.float32)
    return even, odd


@jit
def _next(h, reset, candidate, update, update_bias):  # type: ignore[no-untyped-def]
    """One view's next state."""
    return h + sigmoid(update + update_bias) * (tanh(sigmoid(reset) * candidate) - h)


@jit
def _next_back(d, h, reset, candidate, update, update_bias):  # type: ignore[no-untyped-def]
    """The gradients of reset, candidate, update and h."""
    r = sigmoid(reset)
    c = tanh(r * candidate)
    u = sigmoid(update + update_bias)
    inner = d * u * (1.0 - c * c)
    return (
        inner * candidate * r * (1.0 - r),
        inner * r,
        d * (c - h) * u * (1.0 - u),
        d * (1.0 - u),
    )


@jit
def _forward_kernel(  # type: ignore[no-untyped-def]
    y,
    gain,
    h,
    fresh,
    out,
    parities,
    onward,
    ends,
    eps,
    update_bias,
    y_part,
    y_row,
    h_row,
    fresh_row,
    out_row,
    parities_part,
    parities_row,
    onward_part,
    onward_row,
    ends_row,
    width: tl.constexpr,
    padded: tl.constexpr,
    both: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, padded)
    known = column < width
    at = y + row * y_row + column
    even0, odd0 = _gate(at, y_part, known, both)
    even1, odd1 = _gate(at + width, y_part, known, both)
    even2, odd2 = _gate(at + 2 * width, y_part, known, both)
    square = even0 * even0 + odd0 * odd0 + even1 * even1 + odd1 * odd1
    square = tl.sum(square + even2 * even2 + odd2 * odd2, 0)
    inverse = 1.0 / tl.sqrt(square / (3 * width) + eps)
    g0 = tl.load(gain + column, mask=known, other=0.0).to(tl.float32) * inverse
    g1 = tl.load(gain + width + column, mask=known, other=0.0).to(tl.float32) * inverse
    g2 = tl.load(gain + 2 * width + column, mask=known, other=0.0).to(tl.float32) * inverse
    here = h + row * h_row + column
    begun = known
    if fresh is not None:
        begun = known & (tl.load(fresh + row * fresh_row) == 0)
    to = out + row * out_row + column
    kind = out.dtype.element_ty
    h0 = tl.load(here, mask=begun, other=0.0).to(tl.float32)
    n0 = _next(h0, (even0 + odd0) * g0, (even1 + odd1) * g1, (even2 + odd2) * g2, update_bias)
    tl.store(to, n0.to(kind), mask=known)
    even, odd = n0, n0
    if both:
        h1 = tl.load(here + width, mask=begun, other=0.0).to(tl.float32)
        n1 = _next(h1, (even0 - odd0) * g0, (even1 - odd1) * g1, (even2 - odd2) * g2, update_bias)
        tl.store(to + width, n1.to(kind), mask=known)
        even = n0 + n1
        odd = n0 - n1
    if parities is not None:
        there = parities + row * parities_row + column
        tl.store(there, even.to(parities.dtype.element_ty), mask=known)
        if both:
            tl.store(there + parities_part, odd.to(parities.dtype.element_ty), mask=known)
    if onward is not None:
        ended = tl.load(ends + row * ends_row) != 0
        there = onward + row * onward_row + column
        tl.store(there, tl.where(ended, 0.0, even).to(onward.dtype.element_ty), mask=known)
        if both:
            odd = tl.where(ended, 0.0, odd)
            tl.store(there + onward_part, odd.to(onward.dtype.element_ty), mask=known)


@jit
def _backward_kernel(  # type: ignore[no-untyped-def]
    y,
    gain,
    h,
    fresh,
    dout,
    dparities,
    dnext,
    donward,
    ends,
    dy,
    dh,
    sums,
    eps,
    update_bias,
    y_part,
    y_row,
    h_row,
    fresh_row,
    dout_row,
    dparities_part,
    dparities_row,
    dnext_row,
    donward_part,
    donward_row,
    ends_row,
    dy_part,
    dy_row,
    dh_row,
    n,
    width: tl.constexpr,
    padded: tl.constexpr,
    both: tl.constexpr,
    turns: tl.constexpr,
    more: tl.constexpr,
):
    column = tl.arange(0, padded)
    known = column < width
    g0 = tl.load(gain + column, mask=known, other=0.0).to(tl.float32)
    g1 = tl.load(gain + width + column, mask=known, other=0.0).to(tl.float32)
    g2 = tl.load(gain + 2 * width + column, mask=known, other=0.0).to(tl.float32)
    total0 = tl.zeros([padded], dtype=tl.float32)
    total1 = tl.zeros([padded], dtype=tl.float32)
    total2 = tl.zeros([padded], dtype=tl.float32)
    for turn in range(turns):
        row = (tl.program_id(0) * turns + turn).to(tl.int64)
        inside = known & (row < n)
        at = y + row * y_row + column
        even0, odd0 = _gate(at, y_part, inside, both)
        even1, odd1 = _gate(at + width, y_part, inside, both)
        even2, odd2 = _gate(at + 2 * width, y_part, inside, both)
        square = even0 * even0 + odd0 * odd0 + even1 * even1 + odd1 * odd1
        square = tl.sum(square + even2 * even2 + odd2 * odd2, 0)
        inverse = 1.0 / tl.sqrt(square / (3 * width) + eps)
        even0, odd0 = even0 * inverse, odd0 * inverse  # from here on normalised
        even1, odd1 = even1 * inverse, odd1 * inverse
        even2, odd2 = even2 * inverse, odd2 * inverse
        begun = inside
        if fresh is not None:
            begun = inside & (tl.load(fresh + row * fresh_row, mask=row < n, other=0) == 0)

        # The gradients of the state's two views: first those of parities, through a butterfly.
        d0 = tl.zeros([padded], dtype=tl.float32)
        d1 = tl.zeros([padded], dtype=tl.float32)
        goes_on = inside
        if ends is not None:
            goes_on = inside & (tl.load(ends + row * ends_row, mask=row < n, other=0) == 0)
        if dparities is not None:
            e, o = _gate(dparities + row * dparities_row + column, dparities_part, inside, both)
            d0 = e + o
            d1 = e - o
        if donward is not None:
            e, o = _gate(donward + row * donward_row + column, donward_part, goes_on, both)
            d0 += e + o
            d1 += e - o
        if dnext is not None:
            source = dnext + row * dnext_row + column
            d0 += tl.load(source, mask=goes_on, other=0.0).to(tl.float32)
            if both:
                d1 += tl.load(source + width, mask=goes_on, other=0.0).to(tl.float32)
        if dout is not None:
            source = dout + row * dout_row + column
            d0 += tl.load(source, mask=inside, other=0.0).to(tl.float32)
            if both:
                d1 += tl.load(source + width, mask=inside, other=0.0).to(tl.float32)

        here = h + row * h_row + column
        to = dh + row * dh_row + column
        h0 = tl.load(here, mask=begun, other=0.0).to(tl.float32)
        a0, a1, a2, ah = _next_back(
            d0, h0, (even0 + odd0) * g0, (even1 + odd1) * g1, (even2 + odd2) * g2, update_bias
        )
        tl.store(to, ah.to(dh.dtype.element_ty), mask=inside)
        b0, b1, b2 = tl.zeros_like(a0), tl.zeros_like(a1), tl.zeros_like(a2)
        if both:
            h1 = tl.load(here + width, mask=begun, other=0.0).to(tl.float32)
            r0, r1, r2, rh = _next_back(
                d1, h1, (even0 - odd0) * g0, (even1 - odd1) * g1, (even2 - odd2) * g2, update_bias
            )
            tl.store(to + width, rh.to(dh.dtype.element_ty), mask=inside)
            a0, b0 = a0 + r0, a0 - r0
            a1, b1 = a1 + r1, a1 - r1
            a2, b2 = a2 + r2, a2 - r2

        s0 = a0 * even0 + b0 * odd0
        s1 = a1 * even1 + b1 * odd1
        s2 = a2 * even2 + b2 * odd2
        total0 += s0
        total1 += s1
        total2 += s2
        mean = tl.sum(s0 * g0 + s1 * g1 + s2 * g2, 0) / (3 * width)
        target = dy + row * dy_row + column
        kind = dy.dtype.element_ty
        tl.store(target, (inverse * (a0 * g0 - even0 * mean)).to(kind), mask=inside)
        tl.store(target + width, (inverse * (a1 * g1 - even1 * mean)).to(kind), mask=inside)
        tl.store(target + 2 * width, (inverse * (a2 * g2 - even2 * mean)).to(kind), mask=inside)
        if both:
            target += dy_part
            tl.store(target, (inverse * (b0 * g0 - odd0 * mean)).to(kind), mask=inside)
            tl.store(target + width, (inverse * (b1 * g1 - odd1 * mean)).to(kind), mask=inside)
            tl.store(target + 2 * width, (inverse * (b2 * g2 - odd2 * mean)).to(kind), mask=inside)
    place = sums + tl.program_id(0) * (3 * width) + column
    if more:
        total0 += tl.load(place, mask=known, other=0.0)
        total1 += tl.load(place + width, mask=known, other=0.0)
        total2 += tl.load(place + 2 * width, mask=known, other=0.0)
    tl.store(place, total0, mask=known)
    tl.store(place + width, total1, mask=known)
    tl.store(place + 2 * width, total2, mask=known)
