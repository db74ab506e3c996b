"""Changes to even and odd coordinates and back in one Triton kernel, with the step before it:

    raw entries -> normalise, clip -> even and odd coordinates
    even and odd products -> scale, add bias -> entries

As in `Basis`, each output is a sum of two entries times a factor: added first, scaled after.
"""

from typing import Any

import torch
from torch import Tensor, nn

from swap.device import triton_launch
from swap.device.triton_launch import jit, tl
from swap.nn.basis import Basis
from swap.symmetry import Parity, Rep, trivial

ALIGNED = 8
"""A GPU's matrix products read rows fastest if their length is a multiple of this."""
TILE = 2048
"""How many numbers a program writes."""


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("basis", *tensors)


def merge(
    basis: Basis, x: Tensor, bias: Tensor | None, *, scale: float, bias_scale: float
) -> Tensor:
    """Turn coordinates [N, d], even ones first, into entries [N, d], after multiplying them by
    `scale` and adding `bias` times `bias_scale` to the even ones."""
    out: Tensor = _Merge.apply(x, bias, scale, bias_scale, *basis.gathers)
    return out


class NormalizedSplit(nn.Module):
    """Normalises and clips raw entries and turns them into coordinates, laid out as a product reads
    them fastest: each part begins at a multiple of 8 and is padded with zeros."""

    a: Tensor
    b: Tensor
    factors: Tensor

    def __init__(self, rep: Rep, *, equivariant: bool) -> None:
        super().__init__()
        lines = Parity(rep).split if equivariant else Parity(trivial(rep.dim)).split
        sizes = (rep.n_even, rep.n_odd) if equivariant else (rep.dim,)
        self.part = -(-max(sizes) // ALIGNED) * ALIGNED
        self.width = len(sizes) * self.part
        place = [k * self.part + i for k, size in enumerate(sizes) for i in range(size)]
        tables = torch.zeros(4, self.width, dtype=torch.float64)
        tables[:, place] = torch.tensor(
            [lines.a, lines.b, lines.sign, lines.scale], dtype=torch.float64
        )
        for name, table in (("a", tables[0].long()), ("b", tables[1].long())):
            self.register_buffer(name, table, persistent=False)
        self.register_buffer("factors", tables[2:], persistent=False)

    def forward(self, x: Tensor, mean: Tensor, inverse_std: Tensor, clip: float) -> Tensor:
        """Entries [..., d] to padded coordinates [..., width]. It has no gradient."""
        flat = x.reshape(-1, x.shape[-1])
        out = flat.new_empty(len(flat), self.width)
        _gather(flat, out, self.a, self.b, self.factors, shift=mean, gain=inverse_std, clip=clip)
        return out.view(*x.shape[:-1], self.width)


class _Merge(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, bias: Tensor | None, scale: float, bias_scale: float, *gathers: Tensor
    ) -> Tensor:
        ctx.save_for_backward(*gathers)
        ctx.scales, ctx.biased = (scale, bias_scale), None if bias is None else len(bias)
        out = torch.empty_like(x)
        _gather(x, out, *gathers[3:], bias=bias, scale=scale, bias_scale=bias_scale)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        scale, bias_scale = ctx.scales
        dx = _Split.apply(dout, scale, *ctx.saved_tensors)
        dbias = None
        if ctx.biased is not None:
            dbias = dx[:, : ctx.biased].sum(0) * (bias_scale / scale)
        return dx, dbias, *[None] * 8


class _Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float, *gathers: Tensor) -> Tensor:
        ctx.save_for_backward(*gathers)
        ctx.scale = scale
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        _gather(x.contiguous(), out, *gathers[:3], scale=scale)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        return _Merge.apply(dout, None, ctx.scale, 1.0, *ctx.saved_tensors), *[None] * 7


def _gather(
    x: Tensor,
    out: Tensor,
    a: Tensor,
    b: Tensor,
    factors: Tensor,
    *,
    bias: Tensor | None = None,
    shift: Tensor | None = None,
    gain: Tensor | None = None,
    scale: float = 1.0,
    bias_scale: float = 1.0,
    clip: float = 0.0,
) -> None:
    width = out.shape[-1]
    wide = triton_launch.padded(width)
    rows = max(1, TILE // wide)
    triton_launch.launch(
        _line,
        -(-len(x) // rows),
        *(x, out, a, b, factors, bias, shift, gain),
        *(len(x), scale, bias_scale, clip, 0 if bias is None else len(bias)),
        *(x.stride(0), out.stride(0)),
        width=width,
        padded=wide,
        tile=rows,
    )


# --- Triton ---------------------------------------------------------------------------------------
@jit
def _read(  # type: ignore[no-untyped-def]
    x, row, at, inside, known, bias, shift, gain, scale, bias_scale, clip, n_bias
):
    """Load the entries `at` of some rows, and normalise or scale them."""
    v = tl.load(x + row + at[None, :], mask=inside, other=0.0).to(tl.float32)
    if shift is not None:
        v -= tl.load(shift + at, mask=known, other=0.0).to(tl.float32)[None, :]
        v = v * tl.load(gain + at, mask=known, other=0.0).to(tl.float32)[None, :]
        v = tl.where(v < -clip, -clip, tl.where(v > clip, clip, v))  # NaN stays NaN
    else:
        v = v * scale
    if bias is not None:
        b = tl.load(bias + at, mask=known & (at < n_bias), other=0.0).to(tl.float32)
        v += (b * bias_scale)[None, :]
    return v


@jit
def _line(  # type: ignore[no-untyped-def]
    x,
    out,
    a,
    b,
    factors,
    bias,
    shift,
    gain,
    n,
    scale,
    bias_scale,
    clip,
    n_bias,
    x_row,
    out_row,
    width: tl.constexpr,
    padded: tl.constexpr,
    tile: tl.constexpr,
):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, padded)
    known = column < width
    inside = (row < n)[:, None] & known[None, :]
    row = row.to(tl.int64)[:, None]
    first = tl.load(a + column, mask=known, other=0)
    second = tl.load(b + column, mask=known, other=0)
    sign = tl.load(factors + column, mask=known, other=0.0).to(tl.float32)[None, :]
    factor = tl.load(factors + width + column, mask=known, other=0.0).to(tl.float32)[None, :]
    u = _read(
        x, row * x_row, first, inside, known, bias, shift, gain, scale, bias_scale, clip, n_bias
    )
    v = _read(
        x, row * x_row, second, inside, known, bias, shift, gain, scale, bias_scale, clip, n_bias
    )
    y = tl.where(factor == 0.0, 0.0, (u + v * sign) * factor)
    tl.store(out + row * out_row + column[None, :], y.to(out.dtype.element_ty), mask=inside)
