"""`measure` requests the right trials and turns their ends into rows; no robot moves here."""

from collections import Counter
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tiny_swap
from swap.courses import FAMILIES, difficulty_of
from swap.env.terminations import EndReason
from swap.evaluate import success as of
from swap.evaluate.wilson import wilson
from swap.robots import load
from swap.sim.randomise import nominal

ROBOT = tiny_swap.robot()
APOLLO = load("apollo")
POINTS = [("box", 0.25), ("tilted_box", 0.5), ("rocks", 1.0)]


@dataclass
class Physics:
    """Stands for `run_trials`: the end of a trial follows from its course."""

    batches: list = field(default_factory=list)

    def __call__(self, robot, courses, speed_mps, device, seed, *, blind, condition, look):
        assert condition is None
        self.batches.append((speed_mps, seed, list(courses)))
        look(0, 0.0)
        look(len(courses) // 2, 0.7)
        look(len(courses), 1.0)
        reason = torch.tensor([ending(c) for c in courses])
        drawn = replace(nominal(APOLLO, len(courses)), payload=reason.float())
        return SimpleNamespace(reason=reason, drawn=drawn)

    @property
    def courses(self):
        return [course for _, _, courses in self.batches for course in courses]


def ending(course):
    ends = [
        EndReason.SUCCESS,
        EndReason.SUCCESS,
        EndReason.TRUNK,
        EndReason.UPSIDE_DOWN,
        EndReason.STALLED,
    ]
    return int(ends[int(1e6 * abs(course.pos).sum()) % len(ends)])


@pytest.fixture
def physics(monkeypatch):
    made = Physics()
    monkeypatch.setattr(of, "run_trials", made)
    return made


def rows(wanted=POINTS, trials=7, speeds=(1.0,), **options):
    return list(
        of.measure(ROBOT, wanted, trials=trials, speeds_mps=speeds, device="cpu", **options)
    )


def bits(course):
    parts = (course.pos, course.quat, course.half, [course.goal_tilt, course.goal_x])
    return b"".join(np.asarray(x).tobytes() for x in parts)


def test_causes_are_those_of_the_same_trials(physics, monkeypatch):
    monkeypatch.setitem(of.WORLDS, "cpu", 5)  # batches that end within a point
    for row in rows(trials=12, why=True):
        (cause,) = row["causes"]
        assert cause["what"] == "payload, kg"
        won = {part["low"]: part["success"] for part in cause["parts"]}
        assert won == {reason: float(reason == int(EndReason.SUCCESS)) for reason in won}
        counts = {part["low"]: part["trials"] for part in cause["parts"]}
        assert counts[int(EndReason.SUCCESS)] == round(row["success"] * 12)
    assert all("causes" not in row for row in rows())


def test_every_trial_has_a_course_of_its_own_of_the_points_size(physics):
    rows(trials=40)
    assert len({bits(course) for course in physics.courses}) == 3 * 40
    sizes = {(course.family, course.difficulty) for course in physics.courses}
    assert sizes == set(POINTS)


def test_a_point_has_the_same_courses_alone_or_in_company_few_or_many(physics):
    rows(trials=9)
    company = [bits(course) for course in physics.courses]
    for k, point in enumerate(POINTS):
        for trials in (4, 9):
            physics.batches.clear()
            rows([point], trials=trials)
            assert [bits(c) for c in physics.courses] == company[9 * k : 9 * k + trials]
    physics.batches.clear()
    rows(trials=9, seed=1)
    assert not {bits(course) for course in physics.courses} & set(company)


def test_a_point_asked_for_by_its_size_is_the_same_point(physics):
    grid = of.points(["gap"], 8)
    for _, difficulty in grid:
        size = FAMILIES["gap"].size.at(difficulty)
        wanted = [("gap", difficulty), ("gap", difficulty_of("gap", size))]
        one, two = (of.course_of(*point, 3, seed=1, side="left") for point in wanted)
        assert one.goal_x == pytest.approx(two.goal_x, abs=1e-9)


def test_right_is_left_mirrored_and_both_is_half_of_each(physics):
    found = {}
    for side in ("left", "right", "both"):
        physics.batches.clear()
        assert {row["side"] for row in rows(side=side)} == {side}
        found[side] = physics.courses
    for k, (left, right, both) in enumerate(zip(*found.values(), strict=True)):
        assert bits(right) == bits(left.mirror())
        assert bits(both) == bits(right if k % 7 % 2 else left)
    tilts = {side: {np.sign(c.goal_tilt) for c in courses} for side, courses in found.items()}
    assert tilts == {"left": {0, 1}, "right": {0, -1}, "both": {-1, 0, 1}}


@pytest.mark.parametrize("at_once", [1, 5, 7, 12, 1000])
def test_batches_change_nothing(at_once, physics, monkeypatch):
    told = rows(speeds=(0.5, 2.0))
    seeds = [seed for _, seed, _ in physics.batches]
    physics.batches.clear()
    monkeypatch.setitem(of.WORLDS, "cpu", at_once)
    assert rows(speeds=(0.5, 2.0)) == told
    assert max(len(courses) for _, _, courses in physics.batches) <= at_once
    seeds = [(speed, seed) for speed, seed, _ in physics.batches]
    assert len(set(seeds)) == len(seeds)  # no seed is used twice within a point


def test_rows_tell_how_trials_ended(physics):
    told = rows(trials=30, speeds=(0.5, 2.0))
    assert [(row["family"], row["difficulty"]) for row in told] == POINTS * 2
    assert [row["speed"] for row in told] == [0.5] * 3 + [2.0] * 3
    ends = [Counter(ending(c) for c in physics.courses[k : k + 30]) for k in range(0, 180, 30)]
    for row, count in zip(told, ends, strict=True):
        won = count.pop(EndReason.SUCCESS)
        assert row["success"] == won / 30
        assert (row["low"], row["high"]) == wilson(won, 30)
        names = {
            EndReason.TRUNK: "trunk",
            EndReason.UPSIDE_DOWN: "upside down",
            EndReason.STALLED: "stalled",
        }
        assert row["reasons"] == {names[EndReason(end)]: times for end, times in count.items()}
        times = [int(part.split()[-1]) for part in row["failures"].split(", ")]
        assert times == sorted(count.values(), reverse=True)
        assert all(f"{name} {n}" in row["failures"] for name, n in row["reasons"].items())
        assert row["stalled"] == count[EndReason.STALLED] / 30


def test_no_failure_no_text(monkeypatch):
    reason = torch.full((3,), int(EndReason.SUCCESS))
    won = SimpleNamespace(reason=reason, drawn=nominal(APOLLO, 3))
    monkeypatch.setattr(of, "run_trials", lambda *a, **k: won)
    (row,) = rows(POINTS[:1], trials=3)
    assert (row["failures"], row["reasons"], row["stalled"], row["success"]) == ("", {}, 0, 1)


def test_progress_goes_from_nothing_to_all(physics, monkeypatch):
    monkeypatch.setitem(of.WORLDS, "cpu", 8)
    seen = []
    rows(speeds=(0.5, 1.0), on_progress=seen.append)
    assert {p.trials for p in seen} == {42}
    assert (seen[0].ended, seen[0].fraction) == (0, 0.0)
    assert (seen[1].ended, seen[1].fraction) == (4, pytest.approx(0.7 * 8 / 42))
    assert (seen[-1].ended, seen[-1].fraction) == (42, 1.0)
    for what in ("ended", "fraction"):
        values = [getattr(p, what) for p in seen]
        assert values == sorted(values)


def test_a_batch_is_done_when_all_have_ended_or_time_is_up():
    """A robot that has learned nothing: its trials end one by one."""
    seen = []
    courses = [of.course_of("box", 0.3, k, seed=0, side="both") for k in range(3)]
    outcome = of.run_trials(ROBOT, courses, 1.0, "cpu", 0, look=lambda *x: seen.append(x))
    assert (outcome.reason > 0).all()
    assert seen[-1] == (3, 1.0)
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.1


@pytest.mark.parametrize(("speed", "time_s"), [(0.5, 40.0), (1.0, 20.0), (2.0, 20.0)])
def test_slow_commands_have_more_time(speed, time_s, monkeypatch):
    given = {}

    def trials(cfg, courses, **options):
        given.update(options)
        raise InterruptedError

    monkeypatch.setattr(of, "Trials", trials)
    with pytest.raises(InterruptedError):
        of.run_trials(ROBOT, [of.course_of("box", 0.3, 0, seed=0, side="both")], speed, "cpu", 0)
    assert given["time_s"] == time_s
    assert given["command"] == (speed, 0.0, 0.0)
