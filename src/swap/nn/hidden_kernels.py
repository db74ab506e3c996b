"""Holds the Triton kernels of `fused_hidden`, where their work and their tensors are described."""

from swap.device.triton_launch import jit, tl
from swap.nn.kernel_math import load_parities, silu, silu_slope, tanh


@jit
def activate(x, act: tl.constexpr):  # type: ignore[no-untyped-def]
    y = x
    if act == 1:
        y = tl.maximum(x, 0.0)
    elif act == 2:
        y = tl.where(x > 0, x, tl.exp(tl.minimum(x, 0.0)) - 1.0)
    elif act == 3:
        y = silu(x)
    elif act == 4:
        y = tanh(x)
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
        y = silu_slope(x)
    elif act == 4:
        t = tanh(x)
        y = 1.0 - t * t
    return y


@jit
def _load_inputs(  # type: ignore[no-untyped-def]
    y,
    add,
    bias,
    b,
    row,
    column,
    inside,
    scale,
    y_part,
    y_row,
    add_part,
    add_row,
    both: tl.constexpr,
):
    """Load the parities of some rows, scaled, and add the bias, which is in `b`, and `add`."""
    even, odd = load_parities(y + row * y_row + column[None, :], y_part, inside, both)
    even = even * scale
    odd = odd * scale
    if bias is not None:
        even += tl.where(inside, b[None, :], 0.0)
    if add is not None:
        more, more_odd = load_parities(
            add + row * add_row + column[None, :], add_part, inside, both
        )
        even += more
        if both:
            odd += more_odd
    return even, odd


@jit
def _inverse_rms(even, odd, width, eps):  # type: ignore[no-untyped-def]
    """1 / the root mean square of each row, over both views."""
    square = tl.sum(even * even + odd * odd, 1)
    return (1.0 / tl.sqrt(square / width + eps))[:, None]


@jit
def forward(  # type: ignore[no-untyped-def]
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
    b = tl.zeros([padded], dtype=tl.float32)
    if bias is not None:
        b = tl.load(bias + column, mask=column < width, other=0.0).to(tl.float32) * bias_scale
    even, odd = _load_inputs(
        y, add, bias, b, row, column, inside, scale, y_part, y_row, add_part, add_row, both
    )
    if gain is not None:
        g = tl.load(gain + column, mask=column < width, other=0.0).to(tl.float32)[None, :]
        inverse = _inverse_rms(even, odd, width, eps)
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
def backward(  # type: ignore[no-untyped-def]
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
        even, odd = _load_inputs(
            y, add, bias, b, row, column, inside, scale, y_part, y_row, add_part, add_row, both
        )
        inverse = tl.full([tile, 1], 1.0, dtype=tl.float32)
        if gain is not None:
            inverse = _inverse_rms(even, odd, width, eps)
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
