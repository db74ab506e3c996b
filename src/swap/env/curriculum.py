"""Chooses the level of each world's next episode from how the last ones ended.

Every world has a frontier: the level it works on. A success there moves it up, a failure down, each
with some probability. Part of the episodes replay a random level below it, so that what was learned
is not forgotten; these do not move it. Once the frontier is past the top level, all levels are
drawn equally often, and only failures at the top level bring it back.
"""

import torch
from torch import Tensor

from swap.env.cfg import CurriculumCfg
from swap.env.random_source import RandomSource
from swap.state_dict import Buffers


class Curriculum(Buffers):
    """Frontiers and levels of `n` worlds."""

    frontier: Tensor
    """[N] long, 0 to levels."""
    level: Tensor
    """[N] long, 0 to levels - 1: the level of the present episode."""

    def __init__(self, cfg: CurriculumCfg, levels: int, rng: RandomSource) -> None:
        start = rng.uniform().mul(0).long() + min(cfg.initial_level, levels)
        super().__init__(frontier=start, level=start.clamp(max=levels - 1))
        self.cfg, self.levels, self._rng = cfg, levels, rng

    def begin(self, frontier: Tensor) -> None:
        """Set the frontiers [N] before the first episode; every world starts at its frontier."""
        self.frontier.copy_(frontier)
        torch.clamp(self.frontier, max=self.levels - 1, out=self.level)

    @property
    def progress(self) -> Tensor:
        """[N] in [0, 1]: each world's frontier as a share of all levels."""
        return self.frontier / self.levels

    @property
    def at_frontier(self) -> Tensor:
        """[N] bool: the present episode can move the frontier."""
        return self.level == self.frontier.clamp(max=self.levels - 1)

    def update(self, success: Tensor, failure: Tensor) -> None:
        """Move the frontiers of worlds whose episode ended in success or failure, [N] bool each."""
        drawn = self._rng.uniform()
        raised, dropped = drawn < self.cfg.up_probability, drawn < self.cfg.down_probability
        step = (success & raised).long() - (failure & dropped).long()
        step *= self.at_frontier
        self.frontier.add_(step).clamp_(0, self.levels)

    def draw(self, mask: Tensor) -> None:
        """Draw new levels for the worlds in `mask` [N]."""
        drawn = self._rng.uniform(2)
        below = (drawn[:, 0] * self.frontier).long()  # uniform in 0..frontier - 1
        graduated = self.frontier == self.levels
        replay = graduated | ((drawn[:, 1] < self.cfg.replay_fraction) & (self.frontier > 0))
        level = below.where(replay, self.frontier).clamp_(max=self.levels - 1)
        torch.where(mask, level, self.level, out=self.level)
