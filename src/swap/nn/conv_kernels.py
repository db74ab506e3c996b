"""Holds the Triton kernels of `fused_conv`, where their work and their tensors are described."""

from swap.device.triton_launch import jit, tl
from swap.nn.kernel_math import sigmoid, silu


@jit
def multiply(a, b, total, exact: tl.constexpr):  # type: ignore[no-untyped-def]
    if exact:
        total = tl.dot(a.to(tl.float32), b.to(tl.float32), total, input_precision="ieee")
    else:
        total = tl.dot(a, b, total, input_precision="tf32")
    return total


@jit
def apply_epilogue(  # type: ignore[no-untyped-def]
    total, tied, before, out, at, past, inside, column, known, eps, outputs, kind: tl.constexpr
):
    """Finish the sums of some pixels and store them at `at`; the sums before the norm or bias are
    at `past`. Returns what these pixels add to the gradient of bias or gain."""
    added = total
    store = out.dtype.element_ty
    if kind == 1 or kind == 2:
        total += tl.load(tied + column, mask=known, other=0.0).to(tl.float32)[None, :]
    if kind == 2 or kind == 3:
        if before is not None:
            tl.store(before + past, total.to(before.dtype.element_ty), mask=inside)
        if kind == 3:
            inverse = 1.0 / tl.sqrt(tl.sum(total * total, 1) / outputs + eps)
            gain = tl.load(tied + column, mask=known, other=0.0).to(tl.float32)[None, :]
            total = total * inverse[:, None] * gain
        total = silu(total)
    if kind >= 4:
        x = tl.load(before + past, mask=inside, other=0.0).to(tl.float32)
        if kind == 4:
            s = sigmoid(x)
            total = total * s * (1.0 + x * (1.0 - s))
            added = total
        else:
            inverse = (1.0 / tl.sqrt(tl.sum(x * x, 1) / outputs + eps))[:, None]
            gain = tl.load(tied + column, mask=known, other=0.0).to(tl.float32)[None, :]
            n = x * inverse
            z = n * gain
            s = sigmoid(z)
            dz = total * s * (1.0 + z * (1.0 - s))
            added = dz * n
            u = dz * gain
            total = inverse * (u - n * (tl.sum(u * n, 1) / outputs)[:, None])
    tl.store(out + at, total.to(store), mask=inside)
    return added


@jit
def load_patch(  # type: ignore[no-untyped-def]
    x,
    view,
    image_at,
    row,
    column,
    inside,
    j,
    rows: tl.constexpr,
    columns: tl.constexpr,
    channels: tl.constexpr,
    pixel: tl.constexpr,
    channel: tl.constexpr,
    image: tl.constexpr,
):
    """Load entries j of the patches whose first pixel is (row, column): [block, len(j)]. A patch is
    four rows of four pixels with all their channels."""
    c = (j % channels)[None, :]
    row = row[:, None] + (j // (4 * channels))[None, :]
    column = column[:, None] + ((j // channels) % 4)[None, :]
    there = inside[:, None] & (j < 16 * channels)[None, :]
    there = there & (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    if image:
        # The second view is the same image, read from right to left.
        column = tl.where(view == 1, columns - 1 - column, column)
        at = image_at[:, None] + row * columns + column
        a = tl.load(x + at, mask=there & (c == 0), other=0.0)
        a = tl.where(there & (c == 1), 1.0, a.to(tl.float32)).to(x.dtype.element_ty)
    else:
        at = image_at[:, None] + (row * columns + column) * pixel + c * channel
        a = tl.load(x + at, mask=there, other=0.0)
    return a


@jit
def down(  # type: ignore[no-untyped-def]
    x,
    weight,
    out,
    tied,
    before,
    sums,
    images,
    programs,
    eps,
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
    image: tl.constexpr,
    deep: tl.constexpr,
    kind: tl.constexpr,
    turns: tl.constexpr,
):
    low: tl.constexpr = rows // 2
    across: tl.constexpr = columns // 2
    view = (tl.program_id(0) // programs).to(tl.int64)
    column = tl.arange(0, wide)
    known = column < outputs
    summed = tl.zeros([wide], dtype=tl.float32)
    for turn in range(turns):
        p = ((tl.program_id(0) % programs) * turns + turn) * block + tl.arange(0, block)
        inside = p < images * (low * across)
        n = (p // (low * across)).to(tl.int64)
        y = (p // across) % low
        x_ = p % across
        image_at = n * x_image
        if not image:
            image_at += view * x_view
        total = tl.zeros([block, wide], dtype=tl.float32)
        for start in range(0, 16 * channels, deep):
            j = start + tl.arange(0, deep)
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
            b = tl.load(
                weight + j[:, None] * outputs + column[None, :],
                mask=(j < 16 * channels)[:, None] & known[None, :],
                other=0.0,
            )
            total = multiply(a, b, total, exact)
        both = inside[:, None] & known[None, :]
        pixel = y * across + x_
        at = (view * out_view + n * out_image + pixel * out_pixel)[:, None]
        past = ((view * images + n) * (low * across) + pixel)[:, None] * outputs
        added = apply_epilogue(
            total,
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
        if sums is not None:
            summed += tl.sum(tl.where(both, added, 0.0), 0)
    if sums is not None:
        tl.store(sums + tl.program_id(0) * outputs + column, summed, mask=known)


@jit
def up(  # type: ignore[no-untyped-def]
    x,
    weight,
    out,
    tied,
    before,
    sums,
    images,
    programs,
    eps,
    rows: tl.constexpr,
    columns: tl.constexpr,
    channels: tl.constexpr,
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
    exact: tl.constexpr,
    deep: tl.constexpr,
    kind: tl.constexpr,
    turns: tl.constexpr,
):
    view = (tl.program_id(0) // programs).to(tl.int64)
    column = tl.arange(0, wide)
    known = column < outputs
    summed = tl.zeros([wide], dtype=tl.float32)
    for turn in range(turns):
        p = ((tl.program_id(0) % programs) * turns + turn) * block + tl.arange(0, block)
        inside = p < images * (rows * columns)
        n = (p // (rows * columns)).to(tl.int64)
        y = (p // columns) % rows
        x_ = p % columns
        image_at = n * x_image + view * x_view
        both = inside[:, None] & known[None, :]
        # An output pixel reads two rows and two columns. Which ones, and with which weights,
        # depends on whether its own row and column are even or odd.
        for odd in range(4):
            py = odd // 2
            px = odd % 2
            total = tl.zeros([block, wide], dtype=tl.float32)
            for start in range(0, 4 * channels, deep):
                j = start + tl.arange(0, deep)
                c, side, second = j % channels, (j // channels) % 2, j // (2 * channels)
                row = y[:, None] - 1 + py + second[None, :]
                there = x_[:, None] - 1 + px + side[None, :]
                ok = inside[:, None] & (j < 4 * channels)[None, :]
                ok = ok & (row >= 0) & (row < rows) & (there >= 0) & (there < columns)
                at = image_at[:, None] + (row * columns + there) * x_pixel
                a = tl.load(x + at + (c * x_channel)[None, :], mask=ok, other=0.0)
                k = ((3 - py - 2 * second) * 4 + 3 - px - 2 * side) * channels + c
                b = tl.load(
                    weight + k[:, None] * outputs + column[None, :],
                    mask=(j < 4 * channels)[:, None] & known[None, :],
                    other=0.0,
                )
                total = multiply(a, b, total, exact)
            pixel = (2 * y + py) * (2 * columns) + 2 * x_ + px
            to = (view * out_view + n * out_image + pixel * out_pixel)[:, None]
            past = ((view * images + n) * (4 * rows * columns) + pixel)[:, None] * outputs
            added = apply_epilogue(
                total,
                tied,
                before,
                out,
                to + column[None, :] * out_channel,
                past + column[None, :],
                both,
                column,
                known,
                eps,
                outputs,
                kind,
            )
            if sums is not None:
                summed += tl.sum(tl.where(both, added, 0.0), 0)
    if sums is not None:
        tl.store(sums + tl.program_id(0) * outputs + column, summed, mask=known)
