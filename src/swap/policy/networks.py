"""Configs and layouts in, the networks that act out: a policy, and the world model it reads."""

from collections.abc import Mapping
from typing import NamedTuple

import torch

from swap.policy.actor_critic import ActorCritic, PolicyCfg
from swap.policy.latent_state import LATENT
from swap.symmetry import Layout
from swap.world_model import WorldModel, WorldModelCfg


class Networks(NamedTuple):
    policy: ActorCritic
    model: WorldModel | None
    """None for a policy that reads observations only."""


def build_networks(
    policy: PolicyCfg,
    model: WorldModelCfg | None,
    groups: Mapping[str, Layout],
    action: Layout,
    seed: int,
) -> Networks:
    """`groups` as an environment names them; the first weights follow from the seed alone."""
    groups = dict(groups)
    with torch.random.fork_rng(devices=[]):  # the same first weights on every device
        torch.manual_seed(seed)
        made = None
        if model is not None:
            heights = groups["body_heights"], groups["foot_heights"]
            made = WorldModel(model, groups["proprioception"], action, *heights)
            groups[LATENT] = made.latent_layout
        return Networks(ActorCritic(policy, groups, action.rep), made)
