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
from swap.device.triton_launch import padded
from swap.learn import ppo_kernels
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
            ppo_kernels.forward,
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
            ppo_kernels.backward,
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
