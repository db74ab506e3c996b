"""The loop: exact resumption, goals, faults."""

import dataclasses
import functools
import json

import pytest
import torch

from swap.errors import UserError
from swap.presets import GuardCfg, RunCfg
from swap.runs import checkpoint, load, read_metrics, seed_everything, train
from swap.runs import run as run_module
from swap.runs.run_clock import RunClock
from swap.runs.seeding import restore_rng, rng_tensors
from swap.runs.shards import read_folder
from toy_preset import FitCfg, NetCfg, Toy, ToyCfg
from toy_run import QUICK, Silent, goal, toy_run


def test_n_and_n_iterations_equal_2n_bit_for_bit(tmp_path):
    toy_run(tmp_path / "once", goal(40))
    toy_run(tmp_path / "twice", goal(20))
    torch.rand(3)  # whatever happens in between does not matter
    toy_run(tmp_path / "twice", goal(40), resume=load(tmp_path / "twice"))
    once, twice = load(tmp_path / "once"), load(tmp_path / "twice")
    assert once.iteration == twice.iteration == 40
    assert once.tensors.keys() == twice.tensors.keys()
    for name, x in once.tensors.items():
        assert torch.equal(x, twice.tensors[name]), name
    rows = [read_metrics(tmp_path / name) for name in ("once", "twice")]
    assert [r["fit/loss"] for r in rows[0]] == [r["fit/loss"] for r in rows[1]]
    # A test that cannot fail is a defect: without the state of chance they differ.
    toy_run(tmp_path / "other", goal(40), cfg=ToyCfg(seed=1))
    assert read_metrics(tmp_path / "other")[-1]["fit/loss"] != rows[0][-1]["fit/loss"]


def test_all_chance_comes_back():
    import random

    import numpy as np

    def draw() -> tuple[object, ...]:
        return random.gauss(0, 1), random.random(), np.random.normal(), torch.randn(2).tolist()

    seed_everything(7)
    draw()  # an odd number of normals: both generators hold a second one back
    kept = rng_tensors()
    first = draw()
    restore_rng(kept)
    assert draw() == first
    seed_everything(7)
    restarted = draw()
    seed_everything(7)
    assert draw() == restarted


def test_after_a_resume_every_iteration_is_there_once(tmp_path):
    toy_run(tmp_path, goal(10))
    at_10 = load(tmp_path)
    toy_run(tmp_path, goal(25), resume=at_10)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 26, "fit/l')  # cut short by a crash
    toy_run(tmp_path, goal(30), resume=at_10)  # goes back to 10: 11 to 25 are done again
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == list(range(1, 31))
    walls = [json.loads(line)["wall_s"] for line in lines]
    assert walls == sorted(walls)


def test_tensorboard_holds_the_same_figures(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    toy_run(tmp_path, dataclasses.replace(goal(5), tensorboard=True))
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    written = [row["fit/loss"] for row in read_metrics(tmp_path)]
    assert [e.step for e in events.Scalars("fit/loss")] == [1, 2, 3, 4, 5]
    assert [e.value for e in events.Scalars("fit/loss")] == pytest.approx(written)


def test_minutes_are_kept_save_included(tmp_path, monkeypatch):
    clock = [1000.0]
    iterate, save = Toy.iterate, checkpoint.save

    def slow_iterate(self):
        clock[0] += 40.0 if self.count == 0 else 2.0  # the first one compiles
        return iterate(self)

    def slow_save(*args, **kwargs):
        clock[0] += 10.0
        return save(*args, **kwargs)

    monkeypatch.setattr(Toy, "iterate", slow_iterate)
    monkeypatch.setattr(checkpoint, "save", slow_save)
    monkeypatch.setattr(run_module, "RunClock", functools.partial(RunClock, now=lambda: clock[0]))
    outcome = toy_run(tmp_path, dataclasses.replace(QUICK, minutes=2.0))
    assert 100.0 < clock[0] - 1000.0 <= 120.0
    # 10 s for the first save, 40 s, then 2 s each, while 2.4 + 2 x 10 s are left.
    assert outcome.iteration == 1 + 24
    assert load(tmp_path).iteration == outcome.iteration
    # The goal is a total over sittings: nothing is left of it.
    spent = dataclasses.replace(QUICK, minutes=1.5)
    assert toy_run(tmp_path, spent, resume=load(tmp_path)).iteration == outcome.iteration


def test_saves_come_in_time_and_milestones_stay(tmp_path):
    cfg = dataclasses.replace(goal(12), save_minutes=0.0, milestone_minutes=0.0, keep_checkpoints=1)
    toy_run(tmp_path, cfg)
    assert sorted(checkpoint.numbered(tmp_path / "checkpoints")) == list(range(13))


def test_a_failed_save_is_loud_and_the_run_goes_on(tmp_path, monkeypatch):
    save, calls = checkpoint.save, []

    def failing(run, iteration, *args, **kwargs):
        calls.append(iteration)
        if iteration in (2, 3):
            raise checkpoint.SaveError(f"checkpoint {iteration:06d} is NOT saved (full)")
        return save(run, iteration, *args, **kwargs)

    monkeypatch.setattr(checkpoint, "save", failing)
    board = Silent()
    every = dataclasses.replace(goal(5), save_minutes=0.0)
    assert toy_run(tmp_path / "a", every, board=board).fault is None  # 4 and 5 are saved again
    assert [line for line in board.lines if "NOT" in line] == [
        "checkpoint 000002 is NOT saved (full)",
        "checkpoint 000003 is NOT saved (full)",
    ]
    outcome = toy_run(tmp_path / "b", dataclasses.replace(every, iterations=3))
    assert outcome.fault == "checkpoint 000003 is NOT saved (full)"
    assert load(tmp_path / "b").iteration == 1


def test_a_nan_is_named_kept_and_never_saved(tmp_path):
    board = Silent()
    every = dataclasses.replace(goal(50), save_minutes=0.0)
    outcome = toy_run(tmp_path, every, ToyCfg(fit=FitCfg(nan_at=8)), board=board)
    assert outcome.iteration == 11
    assert "stopped at iteration 11: fit/loss is nan for 3 iterations" in outcome.fault
    told = next(line for line in board.lines if line.startswith("iteration 9: "))
    assert "fit/loss is nan; not finite: net/0.weight" in told
    evidence = tmp_path / "evidence" / "000009-fit_loss"
    tensors, facts = read_folder(evidence)
    assert torch.isnan(tensors["net/0.weight"]).any()
    assert facts["metrics"]["fit/loss"] == "nan"
    assert facts["culprit"] == "fit/loss"
    assert "net/0.weight" in facts["not_finite"]
    assert load(tmp_path).iteration == 7  # the weights were NaN after iteration 8 already
    assert read_metrics(tmp_path)[-1]["fit/loss"] is None


def test_contained_faults_are_counted_and_too_many_stop_the_run(tmp_path, monkeypatch):
    iterate = Toy.iterate

    def faulty(self):
        bad = 2 if self.count >= 20 else int(self.count == 4)
        return {**iterate(self), "guard/nan_state": bad}

    monkeypatch.setattr(Toy, "iterate", faulty)
    board = Silent()
    cfg = dataclasses.replace(goal(100), guard=GuardCfg(fault_fraction=0.05, window=10))
    outcome = toy_run(tmp_path, cfg, board=board)
    # 32 steps an iteration: 16 faults in 320 steps are 0.05, so 18 are too many.
    assert outcome.iteration == 29
    assert outcome.fault.startswith("stopped at iteration 29: 18 faults in 320 steps are too many")
    assert "nan_state 19" in outcome.fault
    named = [line for line in board.lines if "guard/nan_state counts 1" in line]
    assert len(named) == 1
    assert "evidence/000005-guard_nan_state" in named[0]
    assert load(tmp_path).iteration == 29  # contained faults do not spoil the state


def test_a_folder_with_a_run_in_it_is_left_alone(tmp_path):
    toy_run(tmp_path, goal(3))
    with pytest.raises(UserError, match="already holds a run"):
        toy_run(tmp_path, goal(3))
    assert load(tmp_path).iteration == 3


def test_two_runs_in_one_folder_are_refused(tmp_path):
    with run_module.locked(tmp_path), pytest.raises(UserError, match="another run is writing"):
        toy_run(tmp_path, goal(1))


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write into .* \(Not a dir.*; give another --out"):
        toy_run(tmp_path / "file" / "run", goal(1))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoints").touch()
    monkeypatch.setattr(Toy, "iterate", lambda self: pytest.fail("worked"))
    with pytest.raises(UserError, match="checkpoint 000000 is NOT saved"):
        toy_run(tmp_path / "run", goal(1))


def test_a_checkpoint_of_another_shape_is_one_line(tmp_path):
    toy_run(tmp_path, goal(1))
    with pytest.raises(UserError, match=r"checkpoint 000001 does not fit this config: .*size") as e:
        toy_run(tmp_path, goal(2), ToyCfg(net=NetCfg(width=8)), resume=load(tmp_path))
    assert "\n" not in str(e.value)


def test_a_full_disk_costs_metrics_not_the_run(tmp_path, monkeypatch):
    board = Silent()
    monkeypatch.setattr("swap.runs.metrics.FILE", "/dev/full")
    monkeypatch.setattr("swap.runs.metrics.rewind", lambda path, after: None)
    assert toy_run(tmp_path, goal(3), board=board).fault is None
    told = "metrics are NOT written (No space left on device); the run goes on"
    assert board.lines.count(told) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"keep_checkpoints": 0},
        {"minutes": -1.0},
        {"iterations": -1},
        {"shard_mib": 0.0},
        {"minutes": 1e999},
    ],
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(UserError, match=next(iter(bad))):
        RunCfg(**bad)
    with pytest.raises(UserError, match="strikes"):
        GuardCfg(strikes=0)


def test_a_run_ends_at_its_steps_and_tells_its_trainee_how_many_there_will_be(tmp_path):
    told = []

    class Counting(Toy):
        def plan(self, steps):
            told.append(steps)

        def iterate(self):
            return {**super().iterate(), "steps": 50.0 * self.count}

    cfg = dataclasses.replace(QUICK, steps=330.0)
    outcome = train(Counting(ToyCfg(), "cpu"), tmp_path, cfg)
    assert outcome.iteration == 7  # 350 steps are the first beyond
    assert told == [330.0]
    # A run that is resumed to its old goal, or told more, knows how far it has come.
    longer = dataclasses.replace(QUICK, iterations=10)
    train(Counting(ToyCfg(), "cpu"), tmp_path, longer, resume=load(tmp_path))
    assert told == [330.0, 500.0]
