"""Experience in, a better policy out. Read in this order:

world -> rollout -> gae -> ppo -> ring -> amp -> collect -> trainer (tally, stopwatch below them)
"""

from swap.learn.amp import AMP, AMPCfg
from swap.learn.gae import gae
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.rollout import Rollout
from swap.learn.trainer import Trainer, TrainerCfg
from swap.learn.world import Step, World

__all__ = [
    "AMP",
    "PPO",
    "AMPCfg",
    "PPOCfg",
    "Rollout",
    "Step",
    "Trainer",
    "TrainerCfg",
    "World",
    "gae",
]
