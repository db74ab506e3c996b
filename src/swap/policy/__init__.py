"""Actor, critic and discriminator, and the latent state they read. Read in this order:

network_registry -> normalized_mlp -> actor -> critic -> actor_critic -> discriminator ->
latent_state -> networks -> agent
"""

from swap.policy.actor import Actor
from swap.policy.actor_critic import ActorCritic, Inputs, PolicyCfg
from swap.policy.agent import Agent
from swap.policy.critic import Critic
from swap.policy.discriminator import Discriminator, style_reward
from swap.policy.latent_state import LATENT, LatentState, TickClock
from swap.policy.network_registry import NETWORKS, NetworkSpec
from swap.policy.networks import Networks, build_networks

__all__ = [
    "LATENT",
    "NETWORKS",
    "Actor",
    "ActorCritic",
    "Agent",
    "Critic",
    "Discriminator",
    "Inputs",
    "LatentState",
    "NetworkSpec",
    "Networks",
    "PolicyCfg",
    "TickClock",
    "build_networks",
    "style_reward",
]
