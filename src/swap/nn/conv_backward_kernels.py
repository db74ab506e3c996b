"""Holds the Triton kernels of `fused_conv` for gradients of weights, and for sums over views."""

from swap.device.triton_launch import jit, tl
from swap.nn.conv_kernels import apply_epilogue, load_patch, multiply


@jit
def weight_gradient(  # type: ignore[no-untyped-def]
    x,
    small,
    sums,
    images,
    rows: tl.constexpr,
    columns: tl.constexpr,
    channels: tl.constexpr,
    outputs: tl.constexpr,
    wide: tl.constexpr,
    x_view,
    x_image: tl.constexpr,
    x_pixel: tl.constexpr,
    x_channel: tl.constexpr,
    out_view,
    out_image,
    out_pixel: tl.constexpr,
    out_channel: tl.constexpr,
    block: tl.constexpr,
    exact: tl.constexpr,
    deep: tl.constexpr,
    splits: tl.constexpr,
    turns: tl.constexpr,
    image: tl.constexpr,
):
    low: tl.constexpr = rows // 2
    across: tl.constexpr = columns // 2
    parts: tl.constexpr = (16 * channels + deep - 1) // deep
    split = (tl.program_id(0) // parts) % splits
    view = (tl.program_id(0) // (parts * splits)).to(tl.int64)
    j = (tl.program_id(0) % parts) * deep + tl.arange(0, deep)
    column = tl.arange(0, wide)
    known = column < outputs
    total = tl.zeros([deep, wide], dtype=tl.float32)
    for turn in range(turns):
        p = (split * turns + turn) * block + tl.arange(0, block)
        inside = p < images * (low * across)
        n = (p // (low * across)).to(tl.int64)
        y = (p // across) % low
        x_ = p % across
        image_at = n * x_image
        if not image:
            image_at += view * x_view
        a = load_patch(
            x,
            view,
            image_at,
            2 * y - 1,
            2 * x_ - 1,
            inside,
            j,
            rows,
            columns,
            channels,
            x_pixel,
            x_channel,
            image,
        )
        at = view * out_view + n * out_image + (y * across + x_) * out_pixel
        d = tl.load(
            small + at[:, None] + column[None, :] * out_channel,
            mask=inside[:, None] & known[None, :],
            other=0.0,
        )
        total = multiply(tl.trans(a), d, total, exact)
    # In the order of a layer's weights: [small's channels, large's channels, ky, kx].
    to = column[None, :] * (channels * 16) + ((j % channels) * 16 + j // channels)[:, None]
    place = sums + (view * splits + split) * (outputs * channels * 16)
    tl.store(place + to, total, mask=(j < 16 * channels)[:, None] & known[None, :])


@jit
def epilogue_back(  # type: ignore[no-untyped-def]
    x,
    out,
    tied,
    before,
    sums,
    images,
    programs,
    eps,
    rows: tl.constexpr,
    columns: tl.constexpr,
    outputs: tl.constexpr,
    wide: tl.constexpr,
    x_view,
    x_image,
    x_pixel: tl.constexpr,
    x_channel: tl.constexpr,
    out_view,
    out_image,
    out_pixel: tl.constexpr,
    out_channel: tl.constexpr,
    block: tl.constexpr,
    kind: tl.constexpr,
    turns: tl.constexpr,
):
    view = (tl.program_id(0) // programs).to(tl.int64)
    column = tl.arange(0, wide)
    known = column < outputs
    summed = tl.zeros([wide], dtype=tl.float32)
    for turn in range(turns):
        p = ((tl.program_id(0) % programs) * turns + turn) * block + tl.arange(0, block)
        both = (p < images * (rows * columns))[:, None] & known[None, :]
        n = (p // (rows * columns)).to(tl.int64)
        pixel = p % (rows * columns)
        source = (view * x_view + n * x_image + pixel * x_pixel)[:, None]
        d = tl.load(x + source + column[None, :] * x_channel, mask=both, other=0.0)
        at = (view * out_view + n * out_image + pixel * out_pixel)[:, None]
        past = ((view * images + n) * (rows * columns) + pixel)[:, None] * outputs
        added = apply_epilogue(
            d.to(tl.float32),
            tied,
            before,
            out,
            at + column[None, :] * out_channel,
            past + column[None, :],
            both,
            column,
            known,
            eps,
            outputs,
            kind,
        )
        summed += tl.sum(tl.where(both, added, 0.0), 0)
    tl.store(sums + tl.program_id(0) * outputs + column, summed, mask=known)


@jit
def add_pictures(x, out, size, factor, columns: tl.constexpr, tile: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * tile + tl.arange(0, tile)
    mirrored = at - at % columns + (columns - 1 - at % columns)
    left = tl.load(x + at, mask=at < size, other=0.0).to(tl.float32)
    right = tl.load(x + size + mirrored, mask=at < size, other=0.0).to(tl.float32)
    tl.store(out + at, ((left + right) * factor).to(out.dtype.element_ty), mask=at < size)


@jit
def sum_both_ways(  # type: ignore[no-untyped-def]
    x, sums, size, columns: tl.constexpr, tile: tl.constexpr, turns: tl.constexpr
):
    total = tl.zeros([tile], dtype=tl.float32)
    for turn in range(turns):
        at = (tl.program_id(0) * turns + turn) * tile + tl.arange(0, tile)
        mirrored = at - at % columns + (columns - 1 - at % columns)
        left = tl.load(x + at, mask=at < size, other=0.0).to(tl.float32)
        total += left + tl.load(x + mirrored, mask=at < size, other=0.0).to(tl.float32)
    tl.store(sums + tl.program_id(0), tl.sum(total, 0))


@jit
def add_views(  # type: ignore[no-untyped-def]
    sums,
    out,
    size,
    several,
    tile: tl.constexpr,
    deep: tl.constexpr,
    turns: tl.constexpr,
    both: tl.constexpr,
):
    at = tl.program_id(0) * tile + tl.arange(0, tile)
    total = tl.zeros([deep, tile], dtype=tl.float32)
    for turn in range(turns):
        s = turn * deep + tl.arange(0, deep)
        inside = (s < several)[:, None] & (at < size)[None, :]
        source = sums + s.to(tl.int64)[:, None] * size + at[None, :]
        part = tl.load(source, mask=inside, other=0.0)
        if both:
            # Add the two views entry by entry first: the compiler might order two sums differently.
            part += tl.load(source + several * size, mask=inside, other=0.0)
        total += part
    tl.store(out + at, tl.sum(total, 0), mask=at < size)
