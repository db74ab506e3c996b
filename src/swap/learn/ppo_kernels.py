"""Holds the Triton kernels of `fused_ppo`, where their work and their tensors are described."""

from swap.device.triton_launch import jit, tl


@jit
def _deviation(x, y, row, at, inside, width: tl.constexpr):  # type: ignore[no-untyped-def]
    offset = row[:, None] * width + at[None, :]
    return tl.load(x + offset, mask=inside, other=0.0) - tl.load(y + offset, mask=inside, other=0.0)


@jit
def _density(d, s, log_s, half_log_tau):  # type: ignore[no-untyped-def]
    return -0.5 * (d / s) * (d / s) - log_s - half_log_tau


@jit
def _divergence(d, old, now):  # type: ignore[no-untyped-def]
    return tl.log(now / old) + (old * old + d * d) / (2.0 * now * now) - 0.5


@jit
def _tile(  # type: ignore[no-untyped-def]
    first,
    second,
    n,
    size: tl.constexpr,
    pairs: tl.constexpr,
    wide: tl.constexpr,
    tile: tl.constexpr,
):
    """The rows and orbits of a program, which of them there are, and the two columns of each orbit;
    `paired` marks those that have a second one."""
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    k = tl.arange(0, wide)
    here, known = row < n, k < size
    inside = here[:, None] & known[None, :]
    paired = inside & (k < pairs)[None, :]
    a = tl.load(first + k, mask=known, other=0)
    b = tl.load(second + k, mask=known, other=0)
    return row, k, here, known, inside, paired, a, b


@jit
def _log_prob(  # type: ignore[no-untyped-def]
    action, mean, s, row, a, b, inside, paired, half_log_tau, width: tl.constexpr
):
    """The action's distance from the mean in both columns of each orbit, and its log-density."""
    log_s = tl.log(s)
    d = _deviation(action, mean, row, a, inside, width)
    e = _deviation(action, mean, row, b, paired, width)
    term = tl.where(inside, _density(d, s, log_s, half_log_tau), 0.0)
    term += tl.where(paired, _density(e, s, log_s, half_log_tau), 0.0)
    return d, e, tl.sum(term, 1)


@jit
def _ratio(log_prob, old_log_prob, row, here, clip):  # type: ignore[no-untyped-def]
    """The ratio of densities now and then, and the same clipped."""
    ratio = tl.exp(log_prob - tl.load(old_log_prob + row, mask=here, other=0.0))
    ratio = tl.where(here, ratio, 1.0)
    near = tl.minimum(tl.maximum(ratio, 1.0 - clip), 1.0 + clip)
    return ratio, tl.where(ratio == ratio, near, ratio)  # NaN stays NaN


@jit
def _mean_weight(weight, total, row, here):  # type: ignore[no-untyped-def]
    """The weight of each sample in a mean over the valid ones."""
    return tl.load(weight + row, mask=here, other=0.0) / tl.maximum(tl.load(total), 1.0)


@jit
def _values(value, old_value, returns, row, here, clip):  # type: ignore[no-untyped-def]
    """The value now, the stored one, the return, and the value with its change clipped."""
    v = tl.load(value + row, mask=here, other=0.0)
    u = tl.load(old_value + row, mask=here, other=0.0)
    r = tl.load(returns + row, mask=here, other=0.0)
    return v, u, r, u + tl.minimum(tl.maximum(v - u, -clip), clip)


@jit
def forward(  # type: ignore[no-untyped-def]
    mean,
    std,
    value,
    action,
    old_mean,
    old_std,
    old_log_prob,
    old_value,
    advantage,
    returns,
    weight,
    total,
    first,
    second,
    sums,
    n,
    clip,
    half_log_tau,
    width: tl.constexpr,
    size: tl.constexpr,
    pairs: tl.constexpr,
    wide: tl.constexpr,
    tile: tl.constexpr,
):
    row, k, here, known, inside, paired, a, b = _tile(first, second, n, size, pairs, wide, tile)
    s = tl.load(std + k, mask=known, other=1.0)[None, :]
    t = tl.load(old_std + k, mask=known, other=1.0)[None, :]

    _, _, log_prob = _log_prob(action, mean, s, row, a, b, inside, paired, half_log_tau, width)
    d = _deviation(old_mean, mean, row, a, inside, width)
    e = _deviation(old_mean, mean, row, b, paired, width)
    term = tl.where(inside, _divergence(d, t, s), 0.0)
    term += tl.where(paired, _divergence(e, t, s), 0.0)
    kl = tl.sum(term, 1)

    share = _mean_weight(weight, total, row, here)
    gain = tl.load(advantage + row, mask=here, other=0.0)
    ratio, near = _ratio(log_prob, old_log_prob, row, here, clip)
    surrogate = tl.minimum(ratio * gain, near * gain)
    surrogate = tl.where(ratio * gain == ratio * gain, surrogate, ratio * gain)
    v, _, r, slow = _values(value, old_value, returns, row, here, clip)
    error = tl.maximum((v - r) * (v - r), (slow - r) * (slow - r))
    error = tl.where(v == v, error, v)

    place = sums + tl.program_id(0) * 5
    tl.store(place, tl.sum(-share * surrogate, 0))
    tl.store(place + 1, tl.sum(share * error, 0))
    entropy = tl.log(s) + 0.5 + half_log_tau
    entropy = tl.where(known[None, :], entropy, 0.0) + tl.where((k < pairs)[None, :], entropy, 0.0)
    entropy = tl.sum(tl.sum(entropy, 1), 0)
    tl.store(place + 2, tl.where(tl.program_id(0) == 0, entropy, 0.0))
    tl.store(place + 3, tl.sum(share * kl, 0))
    tl.store(place + 4, tl.sum(tl.where(ratio != near, share, 0.0), 0))


@jit
def backward(  # type: ignore[no-untyped-def]
    mean,
    std,
    value,
    action,
    old_mean,
    old_std,
    old_log_prob,
    old_value,
    advantage,
    returns,
    weight,
    total,
    first,
    second,
    dpolicy,
    dvalue,
    dentropy,
    dmean,
    dv,
    sums,
    n,
    clip,
    half_log_tau,
    width: tl.constexpr,
    size: tl.constexpr,
    pairs: tl.constexpr,
    wide: tl.constexpr,
    tile: tl.constexpr,
):
    row, k, here, known, inside, paired, a, b = _tile(first, second, n, size, pairs, wide, tile)
    each = tl.load(std + k, mask=known, other=1.0)
    s = each[None, :]
    d, e, log_prob = _log_prob(action, mean, s, row, a, b, inside, paired, half_log_tau, width)

    share = _mean_weight(weight, total, row, here)
    gain = tl.load(advantage + row, mask=here, other=0.0)
    ratio, near = _ratio(log_prob, old_log_prob, row, here, clip)
    # A clipped ratio has no gradient, unless the unclipped objective is the smaller one.
    moves = (ratio == near) | (ratio * gain < near * gain) | (ratio * gain != ratio * gain)
    dlog = tl.where(moves, -share * gain * ratio, 0.0) * tl.load(dpolicy)
    tl.store(dmean + row[:, None] * width + a[None, :], dlog[:, None] * d / (s * s), mask=inside)
    tl.store(dmean + row[:, None] * width + b[None, :], dlog[:, None] * e / (s * s), mask=paired)
    curve = tl.where(inside, d * d / (s * s) - 1.0, 0.0)
    curve += tl.where(paired, e * e / (s * s) - 1.0, 0.0)
    ds = tl.sum(dlog[:, None] * curve / s, 0)
    many = tl.where(k < pairs, 2.0, 1.0) * tl.load(dentropy)
    ds += tl.where(tl.program_id(0) == 0, many / each, 0.0)
    tl.store(sums + tl.program_id(0) * size + k, ds, mask=known)

    v, u, r, slow = _values(value, old_value, returns, row, here, clip)
    free = (v - u >= -clip) & (v - u <= clip)
    fast_error, slow_error = (v - r) * (v - r), (slow - r) * (slow - r)
    slow_d = tl.where(free, slow - r, 0.0)
    d_error = tl.where(fast_error > slow_error, v - r, slow_d)
    d_error = tl.where(fast_error == slow_error, 0.5 * (v - r) + 0.5 * slow_d, d_error)
    d_error = tl.where(v == v, d_error, v)
    tl.store(dv + row, 2.0 * share * d_error * tl.load(dvalue), mask=here)
