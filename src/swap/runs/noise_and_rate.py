"""Carries what a run has adapted, the std of its actions and PPO's learning rate, over to a config
that may ask for others."""

from dataclasses import replace

import torch
from torch import Tensor

from swap.learn import PPOCfg
from swap.policy import PolicyCfg
from swap.presets.parkour import ParkourCfg
from swap.presets.table import TrainCfg
from swap.runs.checkpoint import Checkpoint
from swap.runs.saved_model import Tensors

STD, RATE = "policy/actor.head.raw_std", "ppo/lr"
"""Their names in a checkpoint."""
EDGE = 1e-3
"""Smallest distance of a std to its new bounds: at a bound it could not move."""


def carried_over(tensors: Tensors, old: TrainCfg, new: TrainCfg) -> dict[str, Tensor]:
    """The same tensors, with the std and the rate that a run of the `new` config begins with."""
    out = dict(tensors)
    if isinstance(old, ParkourCfg) and isinstance(new, ParkourCfg):
        if STD in out:
            out[STD] = same_std(out[STD], old.policy, new.policy)
        if RATE in out:
            out[RATE] = same_rate(out[RATE], old.ppo, new.ppo)
    return out


def with_config(checkpoint: Checkpoint, old: TrainCfg, new: TrainCfg) -> Checkpoint:
    """The checkpoint for a run that goes on with changed options."""
    return replace(checkpoint, tensors=carried_over(checkpoint.tensors, old, new))


def same_std(raw: Tensor, old: PolicyCfg, new: PolicyCfg) -> Tensor:
    """Keeps the std of actions, even if its bounds have changed, unless another `init_std` was
    asked for: a robot with little noise explores little."""
    if (old.min_std, old.max_std, old.init_std) == (new.min_std, new.max_std, new.init_std):
        return raw
    std = old.min_std + (old.max_std - old.min_std) * torch.sigmoid(raw.double())
    if old.init_std != new.init_std:
        std = torch.full_like(std, new.init_std)
    share = (std - new.min_std) / (new.max_std - new.min_std)
    return share.clamp(EDGE, 1 - EDGE).logit().to(raw.dtype)


def same_rate(rate: Tensor, old: PPOCfg, new: PPOCfg) -> Tensor:
    """Keeps the adapted learning rate within its bounds, unless another one was asked for."""
    return rate.clamp(*new.lr_range) if old.lr == new.lr else torch.full_like(rate, new.lr)
