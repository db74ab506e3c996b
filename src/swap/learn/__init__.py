"""Collects experience and improves the policy with it. Read in this order:

vec_env -> rollout -> gae -> ppo -> replay -> model_learner -> mirrored_inputs -> latent_tracker ->
ring_buffer -> amp -> style_reward -> collector -> symmetry_baselines -> trainer -> trainable
(they all use metrics, stopwatch, adam, gradient_step)
"""

from swap.learn.amp import AMP, AMPCfg
from swap.learn.gae import gae
from swap.learn.model_learner import ModelCfg, ModelLearner
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.replay import ReplayBuffer
from swap.learn.rollout import Rollout
from swap.learn.symmetry_baselines import SymmetryCfg
from swap.learn.trainer import Trainer, TrainerCfg
from swap.learn.vec_env import VecEnv

__all__ = [
    "AMP",
    "PPO",
    "AMPCfg",
    "ModelCfg",
    "ModelLearner",
    "PPOCfg",
    "ReplayBuffer",
    "Rollout",
    "SymmetryCfg",
    "Trainer",
    "TrainerCfg",
    "VecEnv",
    "gae",
]
