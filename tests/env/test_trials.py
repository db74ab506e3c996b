"""Trials run once on the courses they are given, and say how they ended."""

from dataclasses import replace
from types import SimpleNamespace

import torch

from swap.courses import make
from swap.env import (
    EndReason,
    EnvCfg,
    ObservationNoiseCfg,
    RandomCfg,
    StartCfg,
    Trials,
)
from swap.sim import FIXED

QUIET = ObservationNoiseCfg(0, 0, 0, 0)


def test_trials_run_once_on_the_courses_given():
    import numpy as np

    courses = [make(name, 0.0, np.random.default_rng(0)) for name in ("flat", "box", "gap")]
    cfg = EnvCfg(noise=QUIET, start=StartCfg(0, 0, 0, 0, 0, 0, 0, 0), random=RandomCfg(FIXED, 0))
    env = Trials(cfg, courses, each=2, command=(1.0, 0.0, 0.0), time_s=3.0)
    obs = env.reset()
    assert env.n == 6
    assert env.engine.course_id.tolist() == [0, 0, 1, 1, 2, 2]
    assert obs["command"].tolist() == [[1.0, 0.0, 0.0]] * 6
    assert torch.equal(obs["history"][0], obs["history"][1])
    ends = []
    while not env.finished:
        ends.append(env.step(torch.zeros(6, 12)).info["reason"])
        assert len(ends) < 155
    total = torch.stack(ends).ne(0).sum(0)
    assert (total == 1).all()  # one end each, then idle
    told = env.outcome()
    assert told.reason.tolist() == [EndReason.STALLED] * 6
    assert not told.success.any()
    assert told.time_s.min() >= 2.0
    assert env.metrics()["success/gap"] == 0
    after = env.step(torch.ones(6, 12))
    assert not after.valid.any()
    assert (after.reward == 0).all()
    assert "reward/step" not in env.metrics()  # nobody does anything any more
    assert torch.equal(env.outcome().time_s, told.time_s)
    # Whose trial is over gets no farther, wherever the body goes.
    no = torch.zeros(6, dtype=torch.bool)
    there = SimpleNamespace(base_pos=torch.full((6, 3), 9.0), steps=env.trials.steps + 1)
    goes_on = SimpleNamespace(reason=no.long(), ended=no)
    env.trials.end_episodes(there, goes_on, no)
    assert torch.equal(env.outcome().far_m, told.far_m)
    assert (told.far_m < 9).all()
    env.reset()
    env.trials.end_episodes(there, goes_on, no)
    assert (env.outcome().far_m == 9).all()
    assert not env.finished
    assert not env.outcome().reason.any()


def test_a_trial_beyond_its_goal_succeeds():
    import numpy as np

    course = replace(make("flat", 0.0, np.random.default_rng(0)), goal_x=-2.0)
    env = Trials(EnvCfg(), [course], each=3)
    env.reset()
    for _ in range(40):
        env.step(torch.zeros(3, 12))
    assert env.finished
    assert env.outcome().success.all()
    assert env.outcome().time_s.max() < 0.8
