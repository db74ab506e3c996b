"""The parts of an iteration add up to the whole, and none is counted twice."""

import time
from types import SimpleNamespace

import pytest
import torch

from swap.errors import UserError
from swap.evaluate.train_bench import SECTIONS, SectionTimer, bench
from swap.presets import PRESETS
from toy_preset import ToyCfg


def test_calls_are_counted_by_name():
    def nap(seconds):
        time.sleep(seconds)
        return seconds

    one = SimpleNamespace(short=lambda: nap(0.01), long=lambda: nap(0.03))
    parts = SectionTimer(torch.device("cpu"))
    for method in ("short", "long"):
        parts.watch(one, method, method)
    start = time.perf_counter()
    assert [one.short(), one.short(), one.long()] == [0.01, 0.01, 0.03]
    whole = 1000 * (time.perf_counter() - start)
    told = parts.read()
    assert set(told) == {"short", "long"}
    assert told["short"] >= 20
    assert told["long"] >= 30
    assert told["short"] + told["long"] <= whole  # nothing is counted twice, on a busy machine too
    assert parts.read() == {}


def test_an_iteration_of_a_small_teacher_is_the_sum_of_its_parts():
    row = bench("tiny", worlds=4, iterations=2, warm_up=1, device="cpu")
    assert row["worlds"] == 4
    steps = 4 * PRESETS["tiny"].ppo.steps
    assert row["steps/s"] == pytest.approx(steps / (row["ms an iteration"] / 1000), rel=0.01)
    spent = {name: row[name] for name in SECTIONS if name in row}
    assert set(spent) == {
        "physics",
        "course, reward, observation",
        "camera",
        "policy",
        "PPO",
        "other",
    }
    assert all(ms >= 0 for ms in spent.values())
    assert spent["physics"] > 0 < spent["PPO"]
    assert spent["other"] < 0.5 * sum(spent.values())


def test_a_preset_that_trains_no_robot_is_refused(monkeypatch):
    monkeypatch.setitem(PRESETS.added, "toy", ToyCfg())
    with pytest.raises(UserError, match="trains no robot"):
        bench("toy", worlds=None, iterations=1, warm_up=0, device="cpu")
