"""Computes statistics over seeds: the interquartile mean, its interval, and the probability that
one arm does better than another.

Scores are [S, P]: what each of S seeds reached at each of P points (families and sizes). Trainings
differ by their seed, so seeds are resampled, never trials: 1500 trials of one robot say nothing
about another robot. The definitions are those of Agarwal et al., Deep Reinforcement Learning at the
Edge of the Statistical Precipice, 2021. Leading axes are batches.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RESAMPLES = 5000
LEVEL = 0.95
COVERAGE = {2: 50, 3: 75, 4: 88, 5: 90}
"""In how many of 100 studies with so many seeds the 95 % interval of one point holds the true
value, if scores are normal. Resampling sees only what was drawn, so few seeds give intervals that
are too narrow. The tests simulate it."""


class Interval(NamedTuple):
    value: float
    low: float
    high: float


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """[..., S, P] -> [...]: the mean of all scores without the lowest and the highest quarter
    (rounded down, so that fewer than four scores all count)."""
    every = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = every.shape[-1] // 4
    mean: np.ndarray = every[..., cut : every.shape[-1] - cut].mean(-1)
    return mean


def probability_of_improvement(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """[..., S, P] and [..., T, P] -> [...]: the probability that a seed of ours is better than one
    of theirs at the same point, averaged over points; a tie counts half."""
    a, b = ours[..., :, None, :], theirs[..., None, :, :]
    wins: np.ndarray = ((a > b) + 0.5 * (a == b)).mean((-3, -2, -1))
    return wins


def resampled(
    scores: np.ndarray, rng: np.random.Generator, resamples: int, *, whole: bool = True
) -> np.ndarray:
    """[S, P] -> [resamples, S, P]: seeds drawn with replacement, each arm being a stratum.

    `whole`: a seed is drawn with all its points, since one robot was measured at all of them and is
    good or bad at most of them. False draws anew at every point, as if each point had its own
    robots, which is what rliable does; a mean over points then looks more certain than it is.
    """
    seeds, points = scores.shape
    drawn = rng.integers(seeds, size=(resamples, seeds, 1 if whole else points))
    return np.take_along_axis(scores[None], np.broadcast_to(drawn, (resamples, *scores.shape)), 1)


def bootstrap(
    statistic: Callable[..., np.ndarray],
    *arms: np.ndarray,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
    whole: bool = True,
) -> Interval:
    """A statistic of the scores of one or more arms, with its percentile interval."""
    rng = np.random.default_rng(seed)
    several = [resampled(np.asarray(arm), rng, resamples, whole=whole) for arm in arms]
    tail = (1 - level) / 2
    low, high = np.quantile(statistic(*several), [tail, 1 - tail])
    return Interval(float(statistic(*map(np.asarray, arms))), float(low), float(high))
