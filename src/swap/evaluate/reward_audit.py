"""Runs reward terms in pairs of mirrored worlds: a reward must not depend on which side is which.

Equivariant networks cannot learn what a reward that prefers one side asks for.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from swap.env import EnvCfg, RewardCfg
from swap.env.frame import Frame
from swap.env.rewards import Rewards
from swap.evaluate.mirrored_pairs import Pairs
from swap.evaluate.model_audit import DIFFICULTIES, REP_TOLERANCE
from swap.evaluate.scenes import bank_of
from swap.sim import CONTROL_DT

FAMILIES = ("flat", "tilted_box", "lateral_slope")
STEPS = 40
STD = 1.0
"""Of the random actions: enough to stumble."""


@torch.no_grad()
def check_rewards(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Returns a row for each term: its range, unweighted, for robots that move their joints at
    random, and how far it is from the same in the mirrored worlds."""
    cfg = EnvCfg(rewards=RewardCfg("none", tuple((name, 1.0) for name in names)))
    env = Pairs(cfg, bank_of(FAMILIES, DIFFICULTIES, 0), speed_mps=1.0)
    rewards = env.rewards = RecordedRewards(names, env.device)
    rep, draw = env.spaces.action.rep, torch.Generator().manual_seed(0)
    env.reset()
    for _ in range(STEPS):
        half = STD * torch.randn(env.n // 2, rep.dim, generator=draw)
        env.step(torch.cat([half, rep(half)]))
    here, there = torch.stack(rewards.seen, 1).chunk(2, -1)  # [terms, T, N / 2]
    for k, name in enumerate(rewards.names):
        largest, error = float(here[k].abs().max()), float((here[k] - there[k]).abs().max())
        yield {
            "term": name,
            "lowest": float(here[k].min()),
            "highest": float(here[k].max()),
            "mirror error": error,
            # Nothing is known of a term that was always 0.
            "pass": None if largest == 0 else passes(error, largest),
        }


def passes(error: float, largest: float) -> bool:
    return math.isfinite(largest) and error <= REP_TOLERANCE * largest


class RecordedRewards(Rewards):
    """These terms alone, with a weight of 1 each; it keeps what they gave."""

    def __init__(self, names: Sequence[str], device: torch.device) -> None:
        super().__init__("none", dict.fromkeys(names, 1.0), device, only_positive=False)
        self.seen: list[Tensor] = []

    def __call__(self, frame: Frame) -> tuple[Tensor, Tensor]:
        total, terms = super().__call__(frame)
        self.seen.append(terms / CONTROL_DT)
        return total, terms
