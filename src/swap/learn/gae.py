"""Computes advantages and returns from rewards and values (generalised advantage estimation)."""

import torch
from torch import Tensor


def gae(
    reward: Tensor,  # [T, N]
    value: Tensor,  # [T + 1, N]
    terminated: Tensor,  # [T, N] bool
    truncated: Tensor,  # [T, N] bool
    valid: Tensor,  # [T, N] bool
    *,
    gamma: float,
    lam: float,
) -> tuple[Tensor, Tensor]:
    """Returns advantages and returns, [T, N] each; where a step is not valid, they are 0 and the
    value.

    delta_t = r_t + gamma V_{t+1} (not terminated_t) - V_t, and sums of (gamma lam)^k delta_{t+k}
    run to the end of the episode. The observation after a time limit is the true last one (see
    `vec_env`), so V_{t+1} is already its bootstrap value.
    """
    alive, goes_on = ~terminated, ~(terminated | truncated)
    # `where`, not a product with zero: values beyond an end may be NaN.
    beyond = torch.where(alive, value[1:], 0.0)
    delta = torch.where(valid, reward + gamma * beyond - value[:-1], 0.0)
    linked = goes_on & valid
    keep = linked.to(delta.dtype) * (gamma * lam)
    advantage = torch.empty_like(delta)
    ahead = torch.zeros_like(delta[0])
    for t in reversed(range(len(delta))):
        ahead = torch.where(linked[t], ahead, 0.0)
        ahead = torch.addcmul(delta[t], keep[t], ahead, out=advantage[t])
    return advantage, advantage + value[:-1]
