"""Statistics over seeds against brute force, closed forms and, where it is installed, rliable."""

import itertools
import math

import numpy as np
import pytest

from swap.evaluate.statistics import (
    COVERAGE,
    Interval,
    bootstrap,
    interquartile_mean,
    probability_of_improvement,
    resampled,
)

CHANCE = np.random.default_rng(7)


def mean(scores):
    return scores.mean((-2, -1))


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        ([[0, 1, 2, 3, 4, 5, 6, 7]], 3.5),  # 2 to 5
        ([[9, 0, 1, 2, 100]], 4.0),  # a quarter of five is one: 1, 2 and 9 stay
        ([[1], [2], [6]], 3.0),  # of three all count
        ([[1e9, 3], [5, -1e9]], 4.0),
    ],
)
def test_the_interquartile_mean_leaves_out_the_quarters(scores, wanted):
    assert interquartile_mean(np.array(scores, float)) == pytest.approx(wanted)


def test_the_interquartile_mean_of_a_batch_is_that_of_each_and_of_a_uniform_its_middle():
    batch = CHANCE.random((5, 3, 4))
    assert interquartile_mean(batch) == pytest.approx([interquartile_mean(x) for x in batch])
    exponential = CHANCE.exponential(size=(2000, 500))
    # The mean of an exponential between its quartiles ln(4/3) and ln 4, in closed form.
    a, b = math.log(4 / 3), math.log(4)
    closed = 2 * ((a + 1) * math.exp(-a) - (b + 1) * math.exp(-b))
    assert interquartile_mean(exponential) == pytest.approx(closed, rel=2e-3)


def test_improvement_counts_pairs_of_seeds():
    ours, theirs = CHANCE.integers(0, 4, (3, 5)), CHANCE.integers(0, 4, (4, 5))
    wins = [
        1.0 if ours[i, p] > theirs[j, p] else 0.5 if ours[i, p] == theirs[j, p] else 0.0
        for i in range(3)
        for j in range(4)
        for p in range(5)
    ]
    assert probability_of_improvement(ours, theirs) == pytest.approx(np.mean(wins))
    there = probability_of_improvement(theirs, ours)
    assert there == pytest.approx(1 - np.mean(wins))


def test_improvement_of_normal_scores_has_a_closed_form():
    ours, theirs = CHANCE.normal(0.8, 1.0, (2000, 1)), CHANCE.normal(0.0, 1.0, (2000, 1))
    closed = 0.5 * (1 + math.erf(0.8 / math.sqrt(2) / math.sqrt(2)))
    assert probability_of_improvement(ours, theirs) == pytest.approx(closed, abs=0.02)


@pytest.mark.parametrize("whole", [True, False])
def test_resamples_are_all_those_that_there_are_equally_often(whole):
    scores = np.array([[0.0, 10.0], [1.0, 20.0], [5.0, 90.0]])
    columns = itertools.product(range(3), repeat=3)  # who is drawn
    if whole:
        every = [mean(scores[list(drawn)]) for drawn in columns]
    else:
        pairs = itertools.product(list(columns), repeat=2)
        every = [mean(np.stack([scores[list(a), 0], scores[list(b), 1]], 1)) for a, b in pairs]
    drawn = mean(resampled(scores, np.random.default_rng(0), 40_000, whole=whole))
    values, counts = np.unique(np.round(every, 9), return_counts=True)
    assert set(np.round(drawn, 9)) <= set(values)
    for value, count in zip(values, counts, strict=True):
        share = np.isclose(drawn, value, atol=1e-6).mean()
        assert share == pytest.approx(count / len(every), abs=0.01)


def test_the_interval_of_a_mean_has_the_width_of_theory_and_keeps_seeds_whole():
    seeds, points = 200, 10
    quality = CHANCE.normal(size=(seeds, 1))
    scores = np.repeat(quality, points, 1)  # a robot is equally good everywhere
    error = scores[:, 0].std() / math.sqrt(seeds)
    whole = bootstrap(mean, scores)
    assert whole.value == pytest.approx(quality.mean())
    assert whole.high - whole.low == pytest.approx(2 * 1.96 * error, rel=0.08)
    apart = bootstrap(mean, scores, whole=False)
    assert apart.high - apart.low == pytest.approx(2 * 1.96 * error / math.sqrt(points), rel=0.08)


def test_it_comes_out_the_same_again_and_a_single_seed_has_no_width():
    scores = CHANCE.random((3, 4))
    assert bootstrap(interquartile_mean, scores) == bootstrap(interquartile_mean, scores)
    one = bootstrap(interquartile_mean, scores[:1])
    assert one == Interval(one.value, one.value, one.value)


@pytest.mark.parametrize("seeds", COVERAGE)
def test_intervals_of_few_seeds_are_too_narrow_as_reports_say(seeds):
    scores, studies = np.random.default_rng(1).standard_normal((seeds, 400)), 400
    held = 0
    for k in range(studies):
        told = bootstrap(interquartile_mean, scores[:, k : k + 1], resamples=1000, seed=k)
        held += told.low <= 0 <= told.high
    assert held / studies == pytest.approx(COVERAGE[seeds] / 100, abs=0.06)


@pytest.mark.oracle
def test_it_agrees_with_rliable():
    library = pytest.importorskip("rliable.library")
    metrics = pytest.importorskip("rliable.metrics")
    ours, theirs = CHANCE.random((5, 6)), CHANCE.random((7, 6)) * 0.9
    assert interquartile_mean(ours) == pytest.approx(metrics.aggregate_iqm(ours))
    assert probability_of_improvement(ours, theirs) == pytest.approx(
        metrics.probability_of_improvement(ours, theirs)
    )
    scores = {"ours": ours}
    values, intervals = library.get_interval_estimates(
        scores, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=5000
    )
    told = bootstrap(interquartile_mean, ours, whole=False)
    assert told.value == pytest.approx(float(values["ours"][0]))
    low, high = intervals["ours"][:, 0]
    width = high - low
    assert told.low == pytest.approx(low, abs=0.06 * width)
    assert told.high == pytest.approx(high, abs=0.06 * width)
