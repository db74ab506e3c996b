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
from swap.nn import hidden_kernels
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
        hidden_kernels.forward,
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
        hidden_kernels.backward,
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
