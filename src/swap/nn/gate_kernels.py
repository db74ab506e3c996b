"""Holds the Triton kernels of `fused_gates`, where their work and their tensors are described."""

from swap.device.triton_launch import jit, tl
from swap.nn.kernel_math import load_parities, sigmoid, tanh


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
def _load_gates(at, part, inside, width: tl.constexpr, eps, both: tl.constexpr):  # type: ignore[no-untyped-def]
    """Load the parities of a row's three gates, and 1 / the root mean square of all of them."""
    even0, odd0 = load_parities(at, part, inside, both)
    even1, odd1 = load_parities(at + width, part, inside, both)
    even2, odd2 = load_parities(at + 2 * width, part, inside, both)
    square = even0 * even0 + odd0 * odd0 + even1 * even1 + odd1 * odd1
    square = tl.sum(square + even2 * even2 + odd2 * odd2, 0)
    inverse = 1.0 / tl.sqrt(square / (3 * width) + eps)
    return even0, odd0, even1, odd1, even2, odd2, inverse


@jit
def forward(  # type: ignore[no-untyped-def]
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
    even0, odd0, even1, odd1, even2, odd2, inverse = _load_gates(
        at, y_part, known, width, eps, both
    )
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
def backward(  # type: ignore[no-untyped-def]
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
        even0, odd0, even1, odd1, even2, odd2, inverse = _load_gates(
            at, y_part, inside, width, eps, both
        )
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
            e, o = load_parities(
                dparities + row * dparities_row + column, dparities_part, inside, both
            )
            d0 = e + o
            d1 = e - o
        if donward is not None:
            e, o = load_parities(donward + row * donward_row + column, donward_part, goes_on, both)
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
