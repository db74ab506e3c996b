"""What decides and what judges: actor, critic, and both with their normalisers. Read in this order:

reader -> actor -> critic -> actor_critic -> discriminator
"""

from swap.policy.actor import Actor
from swap.policy.actor_critic import ActorCritic, Inputs, PolicyCfg
from swap.policy.critic import Critic
from swap.policy.discriminator import Discriminator, style_reward

__all__ = [
    "Actor",
    "ActorCritic",
    "Critic",
    "Discriminator",
    "Inputs",
    "PolicyCfg",
    "style_reward",
]
