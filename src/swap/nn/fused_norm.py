"""Fuses norm, gain and SiLU after a convolution into one Triton kernel forward and one backward.

As separate operations they read and write an image eight times; fused, twice. Each pixel is
normalised over its channels, which are adjacent in memory.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import jit, tl
from swap.nn.kernel_math import sigmoid, silu

TILE = 4096
"""How many numbers a program holds at a time."""
PROGRAMS = 512
"""The most programs that share the backward pass; each has its own sum for the gain."""


def fits(x: Tensor, act: object) -> bool:
    """Whether `norm_silu` can process this tensor and activation."""
    channels = x.shape[1]
    return (
        act is F.silu
        and x.dtype == torch.float32
        and channels & (channels - 1) == 0
        and channels <= TILE
        and triton_launch.usable("norm_silu", x)
    )


def norm_silu(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """silu(x / rms(x over C) * gain) for x [B, C, H, W]; the result has its channels last."""
    out: Tensor = _NormSilu.apply(x.contiguous(memory_format=torch.channels_last), gain, eps)
    return out


class _NormSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, eps: float) -> Tensor:
        pixels, channels, rows, blocks = _shape(x)
        y = torch.empty_like(x)
        triton_launch.launch(_norm_forth, blocks, x, gain, y, pixels, eps, channels, rows)
        ctx.save_for_backward(x, gain)
        ctx.eps = eps
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        x, gain = ctx.saved_tensors
        pixels, channels, rows, blocks = _shape(x)
        turns = -(-blocks // PROGRAMS)
        programs = -(-blocks // turns)
        dx, sums = torch.empty_like(x), x.new_empty(programs, channels)
        dy = dy.contiguous(memory_format=torch.channels_last)
        args = x, gain, dy, dx, sums, pixels, ctx.eps, channels, rows, turns
        triton_launch.launch(_norm_back, programs, *args)
        return dx, sums.sum(0), None


def _shape(x: Tensor) -> tuple[int, int, int, int]:
    """The numbers of pixels, channels, pixels per block, and blocks."""
    channels = x.shape[1]
    pixels, rows = x.numel() // channels, TILE // channels
    return pixels, channels, rows, -(-pixels // rows)


@jit
def _norm_forth(x, gain, y, pixels, eps, channels: tl.constexpr, rows: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.arange(0, channels)
    at = row[:, None].to(tl.int64) * channels + column[None, :]
    inside = (row < pixels)[:, None]
    v = tl.load(x + at, mask=inside, other=0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(v * v, 1) / channels + eps)
    z = v * inverse[:, None] * tl.load(gain + column)[None, :]
    tl.store(y + at, silu(z), mask=inside)


@jit
def _norm_back(  # type: ignore[no-untyped-def]
    x,
    gain,
    dy,
    dx,
    sums,
    pixels,
    eps,
    channels: tl.constexpr,
    rows: tl.constexpr,
    turns: tl.constexpr,
):
    column = tl.arange(0, channels)
    g = tl.load(gain + column)[None, :]
    total = tl.zeros([channels], dtype=tl.float32)
    for turn in range(turns):
        row = (tl.program_id(0) * turns + turn) * rows + tl.arange(0, rows)
        at = row[:, None].to(tl.int64) * channels + column[None, :]
        inside = (row < pixels)[:, None]
        v = tl.load(x + at, mask=inside, other=0.0)
        d = tl.load(dy + at, mask=inside, other=0.0)
        inverse = (1.0 / tl.sqrt(tl.sum(v * v, 1) / channels + eps))[:, None]
        n = v * inverse
        z = n * g
        s = sigmoid(z)
        dz = d * s * (1.0 + z * (1.0 - s))
        total += tl.sum(dz * n, 0)
        u = dz * g
        mean = (tl.sum(u * n, 1) / channels)[:, None]
        tl.store(dx + at, inverse * (u - n * mean), mask=inside)
    tl.store(sums + tl.program_id(0) * channels + column, total)
