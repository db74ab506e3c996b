"""Computes a `GRUCell`'s next state from the gates' product in one Triton kernel, forward or back.

    parities of the gates -> norm -> butterfly -> reset, candidate, update -> the next state

A program processes one row: both views of the three gates. The mirror only changes the signs of
odd entries, so it does not change the norm, and both views run through the same code.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.nn import gate_kernels

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
        gate_kernels.forward,
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
        gate_kernels.backward,
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
