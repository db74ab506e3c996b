"""Presets with the paper's own reward: every arm of the ablation with its Table III and its style
reward, without our shaping. New ground is not paid for, the sum is not clipped at zero, and
standing still does not end an episode."""

from dataclasses import replace

from swap.env import EnvCfg, RewardCfg
from swap.presets.swap import ARMS, SWAP

ENV: EnvCfg = replace(
    SWAP.env,
    rewards=RewardCfg("paper-table", only_positive=False),
    terminations=replace(SWAP.env.terminations, stall_s=None),
)
PAPER_REWARD = {f"{name}-paper-reward": replace(arm, env=ENV) for name, arm in ARMS.items()}
