"""Builds the networks that act, a policy and the world model it reads, for an EnvSpec."""

from typing import NamedTuple

import torch

from swap.env_spec import EnvSpec
from swap.policy.actor_critic import ActorCritic, PolicyCfg
from swap.policy.latent_state import LATENT
from swap.world_model import WorldModel, WorldModelCfg


class Networks(NamedTuple):
    policy: ActorCritic
    model: WorldModel | None
    """None for a policy that reads observations only."""


def build_networks(
    policy: PolicyCfg,
    model: WorldModelCfg | None,
    spec: EnvSpec,
    seed: int,
) -> Networks:
    """Builds networks that fit an environment; the initial weights depend only on the seed."""
    groups = dict(spec.groups)
    with torch.random.fork_rng(devices=[]):  # the same first weights on every device
        torch.manual_seed(seed)
        made = None
        if model is not None:
            made = WorldModel(model, spec)
            groups[LATENT] = made.latent_layout
        return Networks(ActorCritic(policy, groups, spec.action.rep), made)
