"""Updates a `RunningNorm` with a batch in three Triton launches instead of about forty.

Sums are taken in double precision about the mean so far, in even and odd coordinates, which do not
trade places under the mirror.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from swap.device import triton_launch
from swap.device.triton_launch import jit, padded, tl
from swap.symmetry import Gather, Parity, Rep, trivial

if TYPE_CHECKING:
    from swap.nn.running_norm import RunningNorm

PROGRAMS, TILE = 256, 2048
"""The most programs that share the rows, and how many numbers each holds at a time."""
DEEP = 32
"""How many programs' sums are added at a time."""


class GatherTables(nn.Module):
    """The gather tables of a basis, for `split` and `merge`; in a plain one each entry is its own
    coordinate."""

    split_columns: Tensor
    split_factors: Tensor
    merge_columns: Tensor
    merge_factors: Tensor

    def __init__(self, rep: Rep, *, equivariant: bool) -> None:
        super().__init__()
        parity = Parity(rep if equivariant else trivial(rep.dim))
        self._store("split", parity.split)
        self._store("merge", parity.merge)

    def _store(self, name: str, lines: Gather) -> None:
        columns = torch.tensor([lines.a, lines.b])
        factors = torch.tensor([lines.sign, lines.scale], dtype=torch.float64)
        self.register_buffer(f"{name}_columns", columns, persistent=False)
        self.register_buffer(f"{name}_factors", factors, persistent=False)


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("statistics", *tensors)


def update(norm: "RunningNorm", x: Tensor, mask: Tensor | None) -> None:
    """Add the rows of x [N, d] where `mask` [N] is True to the statistics."""
    rows, width = x.shape
    wide, tables = padded(width), norm.tables
    tile = max(1, TILE // wide)
    turns = -(-rows // (PROGRAMS * tile))
    programs = -(-rows // (turns * tile))
    sums = norm.coord_mean.new_empty(programs, 2, width)
    counts = norm.coord_mean.new_empty(programs)
    triton_launch.launch(
        _sum_up,
        programs,
        *(x, mask, tables.split_columns, tables.split_factors, norm.coord_mean, sums, counts),
        *(rows, x.stride(0)),
        width=width,
        wide=wide,
        tile=tile,
        turns=turns,
    )
    each = min(32, wide)
    blocks = -(-width // each)
    # All programs read the count and one writes it, so the new count goes to another tensor first.
    count = torch.empty_like(norm.count)
    triton_launch.launch(
        _take_in,
        blocks,
        *(sums, counts, norm.coord_mean, norm.coord_var, norm.count, count),
        norm.rep.n_even if norm.equivariant else width,
        width=width,
        tile=each,
        deep=DEEP,
        several=programs,
    )
    triton_launch.launch(
        _write_out,
        blocks,
        *(norm.coord_mean, norm.coord_var, count, tables.merge_columns, tables.merge_factors),
        *(norm.mean, norm.inverse_std, norm.count, norm.eps),
        width=width,
        tile=each,
    )


# --- Triton ---------------------------------------------------------------------------------------
@jit
def _sum_up(  # type: ignore[no-untyped-def]
    x,
    mask,
    columns,
    factors,
    shift,
    sums,
    counts,
    n,
    x_row,
    width: tl.constexpr,
    wide: tl.constexpr,
    tile: tl.constexpr,
    turns: tl.constexpr,
):
    """Sum the coordinates and their squares, about `shift`, over a program's rows."""
    k = tl.arange(0, wide)
    known = k < width
    a = tl.load(columns + k, mask=known, other=0)[None, :]
    b = tl.load(columns + width + k, mask=known, other=0)[None, :]
    sign = tl.load(factors + k, mask=known, other=0.0).to(tl.float32)[None, :]
    factor = tl.load(factors + width + k, mask=known, other=0.0).to(tl.float32)[None, :]
    center = tl.load(shift + k, mask=known, other=0.0)[None, :]
    first = tl.zeros([wide], dtype=tl.float64)
    second = tl.zeros([wide], dtype=tl.float64)
    count = tl.zeros([tile], dtype=tl.float64)
    for turn in range(turns):
        row = (tl.program_id(0) * turns + turn) * tile + tl.arange(0, tile)
        counted = row < n
        if mask is not None:
            counted = counted & (tl.load(mask + row, mask=counted, other=0) != 0)
        inside = counted[:, None] & known[None, :]
        at = row.to(tl.int64)[:, None] * x_row
        u = tl.load(x + at + a, mask=inside, other=0.0).to(tl.float32)
        v = tl.load(x + at + b, mask=inside, other=0.0).to(tl.float32)
        d = ((u + v * sign) * factor).to(tl.float64) - center
        d = tl.where(inside, d, 0.0)
        first += tl.sum(d, 0)
        second += tl.sum(d * d, 0)
        count += tl.where(counted, 1.0, 0.0).to(tl.float64)
    place = sums + tl.program_id(0) * (2 * width) + k
    tl.store(place, first, mask=known)
    tl.store(place + width, second, mask=known)
    tl.store(counts + tl.program_id(0), tl.sum(count, 0))


@jit
def _take_in(  # type: ignore[no-untyped-def]
    sums,
    counts,
    mean,
    variance,
    count,
    new_count,
    even,
    width: tl.constexpr,
    tile: tl.constexpr,
    deep: tl.constexpr,
    several: tl.constexpr,
):
    """Update the mean and variance of the coordinates with the batch."""
    k = tl.program_id(0) * tile + tl.arange(0, tile)
    known = k < width
    firsts = tl.zeros([deep, tile], dtype=tl.float64)
    seconds = tl.zeros([deep, tile], dtype=tl.float64)
    rows = tl.zeros([deep], dtype=tl.float64)
    for start in range(0, several, deep):
        p = start + tl.arange(0, deep)
        inside = (p < several)[:, None] & known[None, :]
        place = sums + p[:, None] * (2 * width) + k[None, :]
        firsts += tl.load(place, mask=inside, other=0.0)
        seconds += tl.load(place + width, mask=inside, other=0.0)
        rows += tl.load(counts + p, mask=p < several, other=0.0)
    first, second, many = tl.sum(firsts, 0), tl.sum(seconds, 0), tl.sum(rows, 0)
    n = tl.where(many < 1.0, 1.0, many)
    center = tl.load(mean + k, mask=known, other=0.0)
    old = tl.load(variance + k, mask=known, other=0.0)
    shift = tl.where(k < even, first / n, 0.0)  # the mean of an odd coordinate is zero
    spread = second / n - shift * shift
    all_rows = tl.load(count) + many
    share = many / tl.where(all_rows < 1.0, 1.0, all_rows)
    tl.store(variance + k, old + share * (spread - old + shift * shift * (1.0 - share)), mask=known)
    tl.store(mean + k, center + share * shift, mask=known)
    tl.store(new_count, all_rows)


@jit
def _write_out(  # type: ignore[no-untyped-def]
    coord_mean,
    coord_var,
    new_count,
    columns,
    factors,
    mean,
    inverse_std,
    count,
    eps,
    width: tl.constexpr,
    tile: tl.constexpr,
):
    """Turn the coordinates' statistics into those of entries: the mean by the basis; both entries
    of a pair share their variance."""
    k = tl.program_id(0) * tile + tl.arange(0, tile)
    known = k < width
    a = tl.load(columns + k, mask=known, other=0)
    b = tl.load(columns + width + k, mask=known, other=0)
    sign = tl.load(factors + k, mask=known, other=0.0)
    factor = tl.load(factors + width + k, mask=known, other=0.0)
    m = tl.load(coord_mean + a, mask=known, other=0.0)
    m = (m + tl.load(coord_mean + b, mask=known, other=0.0) * sign) * factor
    v = tl.load(coord_var + a, mask=known, other=0.0)
    v = (v + tl.load(coord_var + b, mask=known, other=0.0)) / 2.0 + eps
    tl.store(mean + k, m.to(tl.float32), mask=known)
    tl.store(inverse_std + k, (1.0 / tl.sqrt(v)).to(tl.float32), mask=known)
    tl.store(count, tl.load(new_count))
