"""Holds the Triton kernels of `fused_loss`, where their work and their tensors are described."""

from swap.device.triton_launch import jit, tl
from swap.nn.kernel_math import latent_tile, softmax


@jit
def image_error(  # type: ignore[no-untyped-def]
    x,
    y,
    out,
    rows: tl.constexpr,
    columns: tl.constexpr,
    half: tl.constexpr,
    high: tl.constexpr,
    wide: tl.constexpr,
):
    """The sum of an image's squared errors; each pixel is first added to its mirror image."""
    n = tl.program_id(0).to(tl.int64) * (rows * columns)
    row, column = tl.arange(0, high)[:, None], tl.arange(0, wide)[None, :]
    left = (row < rows) & (column < half)
    right = (row < rows) & (column < columns - half)
    at = n + row * columns + column
    mirrored = n + row * columns + (columns - 1 - column)
    d = tl.load(x + at, mask=left, other=0.0) - tl.load(y + at, mask=left, other=0.0)
    e = tl.load(x + mirrored, mask=right, other=0.0) - tl.load(y + mirrored, mask=right, other=0.0)
    # Pairs are added first: the compiler may take two separate sums in different orders.
    tl.store(out + tl.program_id(0), tl.sum(tl.sum(d * d + e * e, 1), 0))


@jit
def entry_error(  # type: ignore[no-untyped-def]
    x, y, a, b, factors, out, x_row, y_row, width: tl.constexpr, padded: tl.constexpr
):
    """The sum of a row's squared errors, in even and odd coordinates."""
    n = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, padded)
    known = k < width
    first = tl.load(a + k, mask=known, other=0)
    second = tl.load(b + k, mask=known, other=0)
    sign = tl.load(factors + k, mask=known, other=0.0).to(tl.float32)
    factor = tl.load(factors + width + k, mask=known, other=0.0).to(tl.float32)
    x += n * x_row
    y += n * y_row
    u = tl.load(x + first, mask=known, other=0.0) - tl.load(y + first, mask=known, other=0.0)
    v = tl.load(x + second, mask=known, other=0.0) - tl.load(y + second, mask=known, other=0.0)
    d = (u + v * sign) * factor
    tl.store(out + tl.program_id(0), tl.sum(d * d, 0))


@jit
def _probabilities(logits, at, known, kept, mixed):  # type: ignore[no-untyped-def]
    """The softmax of logits, and the same with a uniform share mixed in; padding gets 1 there."""
    s = softmax(tl.load(logits + at, mask=known, other=0.0), known)
    return s, tl.where(known, s * kept + mixed, 1.0)


@jit
def divergence(  # type: ignore[no-untyped-def]
    posterior,
    prior,
    out,
    ticks,
    kept,
    mixed,
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    """A tick's KL, and the entropies of its prior and posterior."""
    n = tl.program_id(0)
    view, _, entry, known = latent_tile(variables, classes, rows, columns, views)
    at = (n.to(tl.int64) * views + view) * (variables * classes) + entry
    _, p = _probabilities(posterior, at, known, kept, mixed)
    _, q = _probabilities(prior, at, known, kept, mixed)
    log_p, log_q = tl.log(p), tl.log(q)
    kl = tl.where(known, p * (log_p - log_q), 0.0)
    tl.store(out + n, tl.sum(tl.sum(tl.sum(kl, 2), 1), 0))
    tl.store(out + ticks + n, tl.sum(tl.sum(tl.sum(-q * log_q, 2), 1), 0))
    tl.store(out + 2 * ticks + n, tl.sum(tl.sum(tl.sum(-p * log_p, 2), 1), 0))


@jit
def divergence_back(  # type: ignore[no-untyped-def]
    posterior,
    prior,
    shares,
    ticks,
    dloss,
    dposterior,
    dprior,
    kept,
    mixed,
    variables: tl.constexpr,
    classes: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    views: tl.constexpr,
):
    n = tl.program_id(0)
    view, _, entry, known = latent_tile(variables, classes, rows, columns, views)
    at = (n.to(tl.int64) * views + view) * (variables * classes) + entry
    scale = tl.load(dloss) * kept
    to_prior = tl.load(shares + n) * scale
    to_posterior = tl.load(shares + ticks + n) * scale
    s, p = _probabilities(posterior, at, known, kept, mixed)
    r, q = _probabilities(prior, at, known, kept, mixed)
    d = tl.where(known, (tl.log(p) - tl.log(q) + 1.0) * to_posterior, 0.0)
    tl.store(dposterior + at, s * (d - tl.sum(d * s, 2)[:, :, None]), mask=known)
    d = tl.where(known, -(p / q) * to_prior, 0.0)
    tl.store(dprior + at, r * (d - tl.sum(d * r, 2)[:, :, None]), mask=known)


@jit
def error_back(  # type: ignore[no-untyped-def]
    x, y, share, dloss, out, x_row, y_row, size: tl.constexpr, tile: tl.constexpr
):
    """The gradient of the squared errors: twice the error, times the weight of its tick."""
    parts: tl.constexpr = (size + tile - 1) // tile
    n = (tl.program_id(0) // parts).to(tl.int64)
    k = (tl.program_id(0) % parts) * tile + tl.arange(0, tile)
    known = k < size
    d = tl.load(x + n * x_row + k, mask=known, other=0.0)
    d -= tl.load(y + n * y_row + k, mask=known, other=0.0)
    scale = 2.0 * tl.load(share + n) * tl.load(dloss)
    tl.store(out + n * size + k, d * scale, mask=known)


@jit
def means(  # type: ignore[no-untyped-def]
    errors,
    valid,
    shares,
    figures,
    loss,
    ticks,
    weight0,
    weight1,
    weight2,
    weight3,
    dyn,
    rep,
    free_nats,
    tile: tl.constexpr,
    turns: tl.constexpr,
):
    """Means over the valid ticks, and the weight of each tick in the gradient of each term."""
    many = tl.zeros([tile], dtype=tl.float32)
    for turn in range(turns):
        n = turn * tile + tl.arange(0, tile)
        many += tl.load(valid + n, mask=n < ticks, other=0).to(tl.float32)
    valid_ticks = tl.maximum(tl.sum(many, 0), 1.0)
    whole = 0.0
    for k in tl.static_range(7):
        # Four errors, the KL, and two entropies, which are only reported.
        weight = weight0
        if k == 1:
            weight = weight1
        elif k == 2:
            weight = weight2
        elif k == 3:
            weight = weight3
        elif k == 4:
            weight = dyn
        total = tl.zeros([tile], dtype=tl.float32)
        bounded = tl.zeros([tile], dtype=tl.float32)
        for turn in range(turns):
            n = turn * tile + tl.arange(0, tile)
            known = n < ticks
            counts = tl.load(valid + n, mask=known, other=0).to(tl.float32) / valid_ticks
            x = tl.load(errors + k * ticks + n, mask=known, other=0.0)
            total += x * counts
            if k == 4:
                bounded += tl.maximum(x, free_nats) * counts
                counts = tl.where(x >= free_nats, counts, 0.0)
                tl.store(shares + (k + 1) * ticks + n, counts * rep, mask=known)
            if k < 5:
                tl.store(shares + k * ticks + n, counts * weight, mask=known)
        mean = tl.sum(total, 0)
        tl.store(figures + k, mean)
        if k < 4:
            whole += mean * weight
        elif k == 4:
            whole += tl.sum(bounded, 0) * (dyn + rep)
    tl.store(loss, whole)
