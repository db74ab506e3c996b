"""What decides and what judges, and the latent state both read. Read in this order:

reader -> actor -> critic -> actor_critic -> discriminator -> two_rate
"""

from swap.policy.actor import Actor
from swap.policy.actor_critic import ActorCritic, Inputs, PolicyCfg
from swap.policy.critic import Critic
from swap.policy.discriminator import Discriminator, style_reward
from swap.policy.two_rate import TwoRate

__all__ = [
    "Actor",
    "ActorCritic",
    "Critic",
    "Discriminator",
    "Inputs",
    "PolicyCfg",
    "TwoRate",
    "style_reward",
]
