"""Presets with the paper's own reward: its Table III and its style reward, and nothing of ours that
helps a robot over the wall. No pay for new ground, no sum that is clipped at zero, no end for those
who stand still. Two arms, which differ in the constraint alone."""

from dataclasses import replace

from swap.env import EnvCfg, RewardCfg
from swap.presets.swap import ARMS, SWAP

ENV: EnvCfg = replace(
    SWAP.env,
    rewards=RewardCfg("paper-table", only_positive=False),
    terminations=replace(SWAP.env.terminations, stall_s=None),
)
PAPER_REWARD = {
    f"{name}-paper-reward": replace(ARMS[name], env=ENV) for name in ("swap", "swap-no-eq")
}
