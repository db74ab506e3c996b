"""Frontiers transferred to another run's worlds keep what was passed, and no more."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch

from swap.env import EnvCfg, ParkourEnv
from swap.env.bank import difficulties
from swap.env.frontiers import by_family, converted, spread

RANGES = [(1, 1.0), (2, 1.0), (10, 0.2), (10, 1.0), (11, 0.5), (20, 0.2), (20, 1.0), (20, 1.3)]


@pytest.mark.parametrize(("old", "new"), list(itertools.product(RANGES, RANGES)))
def test_the_new_frontier_is_the_first_level_harder_than_all_that_was_passed(old, new):
    every = torch.arange(old[0] + 1)
    got = converted(
        every, "box", *(EnvCfg(levels=n, max_difficulty=top) for n, top in (old, new))
    ).tolist()
    for frontier, level in zip(every.tolist(), got, strict=True):
        passed = difficulties("box", *old)[:frontier]
        easy = [d for d in difficulties("box", *new) if passed and d <= max(passed) + 1e-6]
        assert level == len(easy)
    if old == new:
        assert got == every.tolist()


def test_any_number_of_worlds_gets_the_same_distribution():
    kept = torch.tensor([3, 0, 7, 3, 9, 1, 1, 1], dtype=torch.int16)
    for times in (1, 2, 5):
        many = Counter(spread(kept, times * len(kept)).tolist())
        assert many == {level: times * n for level, n in Counter(kept.tolist()).items()}
    wide = torch.from_numpy(np.random.default_rng(0).integers(0, 21, 1000))
    for n in (1, 7, 333):  # every quantile is within one rank of its own
        got = spread(wide, n)
        places = (np.arange(n) + 0.5) / n
        low, high = (np.quantile(wide, places, method=m) for m in ("lower", "higher"))
        steps = np.quantile(wide, np.clip(places + 1e-3, 0, 1), method="higher")
        assert (got.numpy() >= low).all()
        assert (got.numpy() <= np.maximum(high, steps)).all()


def test_worlds_are_told_apart_as_the_environment_does():
    cfg = EnvCfg(families=(("flat", 0.2), ("box", 0.5), ("gap", 0.3)), levels=3, variants=1)
    env = ParkourEnv(cfg, 7)
    env.curriculum.begin(torch.tensor([0, 1, 2, 3, 3, 2, 1]))
    assert env.curriculum.level.tolist() == [0, 1, 2, 2, 2, 2, 1]
    told = by_family(env.curriculum.frontier, cfg)
    for k, name in enumerate(env.families):
        assert torch.equal(told[name], env.curriculum.frontier[env.family == k])
