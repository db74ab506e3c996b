"""Experience in, a better policy out. Read in this order:

world -> rollout -> gae -> ppo -> replay -> model -> eyes -> ring -> amp -> style -> collect ->
trainer (tally, stopwatch below them)
"""

from swap.learn.amp import AMP, AMPCfg
from swap.learn.gae import gae
from swap.learn.model import ModelCfg, ModelLearner
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.replay import Replay
from swap.learn.rollout import Rollout
from swap.learn.trainer import Trainer, TrainerCfg
from swap.learn.world import World

__all__ = [
    "AMP",
    "PPO",
    "AMPCfg",
    "ModelCfg",
    "ModelLearner",
    "PPOCfg",
    "Replay",
    "Rollout",
    "Trainer",
    "TrainerCfg",
    "World",
    "gae",
]
