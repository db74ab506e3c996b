"""Computes PPO's losses (the policy and value now, against those of the rollout) in one Triton
kernel each way.

Step by step this takes a hundred launches on numbers that fit a cache. The terms of a sample are
added pair by pair, the left and right columns of an orbit first, so that a mirrored sample has the
same sums.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import jit, padded, tl
from swap.nn import Gaussian, Orbits

TILE = 64
"""Samples per program."""
HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class RolloutSamples(NamedTuple):
    """What the rollout stored of the samples, M rows each."""

    action: Tensor  # [M, d]
    mean: Tensor  # [M, d]
    std: Tensor  # [orbits]
    log_prob: Tensor
    value: Tensor
    advantage: Tensor
    returns: Tensor
    weight: Tensor


class PPOLosses(NamedTuple):
    """Means over the valid samples, as scalars."""

    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    kl: Tensor
    clipped: Tensor


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("ppo", *tensors) and all(x.dtype == torch.float32 for x in tensors)


def ppo_losses(now: Gaussian, value: Tensor, stored: RolloutSamples, clip: float) -> PPOLosses:
    """Compares the present distribution and value [M] with the stored ones; `clip` is that of
    `PPOCfg`."""
    std, orbits = now.std_per_orbit, now.orbits
    return PPOLosses(*_PPOLosses.apply(now.mean, std, value, stored, orbits, clip))


class _PPOLosses(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mean: Tensor,
        std: Tensor,
        value: Tensor,
        stored: RolloutSamples,
        orbits: Orbits,
        clip: float,
    ) -> tuple[Tensor, ...]:
        stored = RolloutSamples(*(x.contiguous() for x in stored))
        mean, value, total = mean.contiguous(), value.contiguous(), stored.weight.sum()
        programs = -(-len(value) // TILE)
        sums = mean.new_empty(programs, 5)
        triton_launch.launch(
            _forward_kernel,
            programs,
            *(mean, std, value, *stored, total, *orbits.columns_of, sums),
            *(len(value), clip, HALF_LOG_TAU),
            **_constants(orbits),
        )
        ctx.save_for_backward(mean, std, value, total, *stored)
        ctx.orbits, ctx.clip = orbits, clip
        losses = sums.sum(0).unbind()
        ctx.mark_non_differentiable(*losses[3:])
        return losses

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dpolicy: Tensor, dvalue: Tensor, dentropy: Tensor, *_: Any) -> Any:
        mean, std, value, total, *stored = ctx.saved_tensors
        orbits: Orbits = ctx.orbits
        programs = -(-len(value) // TILE)
        sums = mean.new_empty(programs, orbits.size)
        dmean, dv = torch.empty_like(mean), torch.empty_like(value)
        triton_launch.launch(
            _back,
            programs,
            *(mean, std, value, *stored, total, *orbits.columns_of),
            *(dpolicy, dvalue, dentropy, dmean, dv, sums, len(value), ctx.clip, HALF_LOG_TAU),
            **_constants(orbits),
        )
        return dmean, sums.sum(0), dv, None, None, None


def _constants(orbits: Orbits) -> dict[str, int]:
    return {
        "width": orbits.place.numel(),
        "size": orbits.size,
        "pairs": orbits.n_pairs,
        "wide": padded(orbits.size),
        "tile": TILE,
    }


# --- Triton ---------------------------------------------------------------------------------------
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
def _forward_kernel(  # type: ignore[no-untyped-def]
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
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    k = tl.arange(0, wide)
    here, known = row < n, k < size
    inside = here[:, None] & known[None, :]
    paired = inside & (k < pairs)[None, :]
    a = tl.load(first + k, mask=known, other=0)
    b = tl.load(second + k, mask=known, other=0)
    s = tl.load(std + k, mask=known, other=1.0)
    log_s = tl.log(s)[None, :]
    t = tl.load(old_std + k, mask=known, other=1.0)[None, :]

    d = _deviation(action, mean, row, a, inside, width)
    e = _deviation(action, mean, row, b, paired, width)
    term = tl.where(inside, _density(d, s[None, :], log_s, half_log_tau), 0.0)
    term += tl.where(paired, _density(e, s[None, :], log_s, half_log_tau), 0.0)
    log_prob = tl.sum(term, 1)
    d = _deviation(old_mean, mean, row, a, inside, width)
    e = _deviation(old_mean, mean, row, b, paired, width)
    term = tl.where(inside, _divergence(d, t, s[None, :]), 0.0)
    term += tl.where(paired, _divergence(e, t, s[None, :]), 0.0)
    kl = tl.sum(term, 1)

    share = tl.load(weight + row, mask=here, other=0.0) / tl.maximum(tl.load(total), 1.0)
    gain = tl.load(advantage + row, mask=here, other=0.0)
    ratio = tl.exp(log_prob - tl.load(old_log_prob + row, mask=here, other=0.0))
    ratio = tl.where(here, ratio, 1.0)
    near = tl.minimum(tl.maximum(ratio, 1.0 - clip), 1.0 + clip)
    near = tl.where(ratio == ratio, near, ratio)  # NaN stays NaN
    surrogate = tl.minimum(ratio * gain, near * gain)
    surrogate = tl.where(ratio * gain == ratio * gain, surrogate, ratio * gain)
    v = tl.load(value + row, mask=here, other=0.0)
    u = tl.load(old_value + row, mask=here, other=0.0)
    r = tl.load(returns + row, mask=here, other=0.0)
    slow = u + tl.minimum(tl.maximum(v - u, -clip), clip)
    error = tl.maximum((v - r) * (v - r), (slow - r) * (slow - r))
    error = tl.where(v == v, error, v)

    place = sums + tl.program_id(0) * 5
    tl.store(place, tl.sum(-share * surrogate, 0))
    tl.store(place + 1, tl.sum(share * error, 0))
    entropy = log_s + 0.5 + half_log_tau
    entropy = tl.where(known[None, :], entropy, 0.0) + tl.where((k < pairs)[None, :], entropy, 0.0)
    entropy = tl.sum(tl.sum(entropy, 1), 0)
    tl.store(place + 2, tl.where(tl.program_id(0) == 0, entropy, 0.0))
    tl.store(place + 3, tl.sum(share * kl, 0))
    tl.store(place + 4, tl.sum(tl.where(ratio != near, share, 0.0), 0))


@jit
def _back(  # type: ignore[no-untyped-def]
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
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    k = tl.arange(0, wide)
    here, known = row < n, k < size
    inside = here[:, None] & known[None, :]
    paired = inside & (k < pairs)[None, :]
    a = tl.load(first + k, mask=known, other=0)
    b = tl.load(second + k, mask=known, other=0)
    each = tl.load(std + k, mask=known, other=1.0)
    s = each[None, :]
    log_s = tl.log(s)
    d = _deviation(action, mean, row, a, inside, width)
    e = _deviation(action, mean, row, b, paired, width)
    term = tl.where(inside, _density(d, s, log_s, half_log_tau), 0.0)
    term += tl.where(paired, _density(e, s, log_s, half_log_tau), 0.0)
    log_prob = tl.sum(term, 1)

    share = tl.load(weight + row, mask=here, other=0.0) / tl.maximum(tl.load(total), 1.0)
    gain = tl.load(advantage + row, mask=here, other=0.0)
    ratio = tl.exp(log_prob - tl.load(old_log_prob + row, mask=here, other=0.0))
    ratio = tl.where(here, ratio, 1.0)
    near = tl.minimum(tl.maximum(ratio, 1.0 - clip), 1.0 + clip)
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

    v = tl.load(value + row, mask=here, other=0.0)
    u = tl.load(old_value + row, mask=here, other=0.0)
    r = tl.load(returns + row, mask=here, other=0.0)
    slow = u + tl.minimum(tl.maximum(v - u, -clip), clip)
    free = (v - u >= -clip) & (v - u <= clip)
    fast_error, slow_error = (v - r) * (v - r), (slow - r) * (slow - r)
    slow_d = tl.where(free, slow - r, 0.0)
    d_error = tl.where(fast_error > slow_error, v - r, slow_d)
    d_error = tl.where(fast_error == slow_error, 0.5 * (v - r) + 0.5 * slow_d, d_error)
    d_error = tl.where(v == v, d_error, v)
    tl.store(dv + row, 2.0 * share * d_error * tl.load(dvalue), mask=here)
