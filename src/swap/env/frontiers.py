"""Transfers the frontiers of one run's worlds to those of another run, family by family."""

import numpy as np
import torch
from torch import Tensor

from swap.env.bank import assign_families, difficulties
from swap.env.cfg import EnvCfg

TOLERANCE = 1e-9
"""Difficulties closer than this are equal: they differ only by rounding."""


def by_family(frontier: Tensor, cfg: EnvCfg) -> dict[str, Tensor]:
    """Group the frontiers [N] of an environment's worlds by family; families without worlds are
    left out."""
    family = assign_families([share for _, share in cfg.families], len(frontier))
    several = {name: frontier[family == k] for k, (name, _) in enumerate(cfg.families)}
    return {name: own for name, own in several.items() if len(own)}


def converted(frontier: Tensor, family: str, old: EnvCfg, new: EnvCfg) -> Tensor:
    """Convert frontiers of one family to a config whose levels have other difficulties: to the
    easiest level that is harder than all passed ones. One past the top of `old` may be anywhere in
    `new`."""
    passed = np.array([-1.0, *difficulties(family, old.levels, old.max_difficulty)])  # by frontier
    levels = difficulties(family, new.levels, new.max_difficulty)
    table = np.searchsorted(levels, passed + TOLERANCE, side="right")
    return torch.from_numpy(table)[frontier.long()]


def spread(frontier: Tensor, n: int) -> Tensor:
    """Choose frontiers for `n` worlds [n] from those of any number, evenly over the sorted list."""
    places = (torch.arange(n, dtype=torch.float64) + 0.5) / n * len(frontier)
    return frontier.sort().values[places.long()]
