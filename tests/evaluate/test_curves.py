"""Curves of runs: times, tables and names, against files made by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from swap.errors import UserError
from swap.evaluate.curves import (
    accumulated,
    frontier_table,
    labels,
    measured_on,
    read_curve,
    read_success,
    round_minutes,
    run_table,
    selected,
    success_table,
    trained_on,
)


def line(iteration: int, minute: float, box: float | None, **more: float) -> dict:
    row = {"iteration": iteration, "wall_s": 60 * minute, "steps": 1000 * iteration}
    return row | {"frontier/flat": 0.0, "frontier/box": box} | more


def written(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


STRAIGHT = [line(k, 0.5 * k, 0.1 * k) for k in range(1, 13)]
"""Six minutes; the frontier is 0.2 m a minute."""


def test_a_run_s_figures_are_those_of_its_lines(tmp_path):
    written(tmp_path / "first" / "metrics.jsonl", STRAIGHT)
    curve = read_curve(tmp_path / "first", "first")
    (row,) = frontier_table([curve], trained_on([curve]), [3, 4.75, 9])
    assert row.pop("3 min") == pytest.approx(0.6)
    assert row.pop("4.75 min") == pytest.approx(0.9)  # the line of 4.5 min is the last one by then
    assert row.pop("end") == pytest.approx(1.2)
    assert row == {"family": "box", "unit": "m", "run": "first", "9 min": None}
    (row,) = run_table([curve])
    assert row == {
        "run": "first",
        "minutes": 6.0,
        "iterations": 12,
        "steps": 12000,
        "steps/s": 33,  # 1000 in half a minute
    }


def test_steps_a_second_are_those_of_the_last_half(tmp_path):
    slow = [line(k, 2.0 * k, 0.2) for k in (1, 2)]  # 4 minutes for the first two
    fast = [line(k, 4 + 0.1 * (k - 2), 0.2) for k in range(3, 43)]
    (row,) = run_table([read_curve(written(tmp_path / "a.jsonl", slow + fast), "a")])
    assert row["steps/s"] == round(1000 / 6)
    (row,) = run_table([read_curve(written(tmp_path / "b.jsonl", slow[:1]), "b")])
    assert row["steps/s"] is None


def test_a_clock_that_starts_anew_is_added_up(tmp_path):
    anew = [*STRAIGHT[:6], *(row | {"wall_s": row["wall_s"] - 180} for row in STRAIGHT[6:])]
    whole, resumed = (
        read_curve(written(tmp_path / f"{name}.jsonl", rows), "run")
        for name, rows in (("whole", STRAIGHT), ("resumed", anew))
    )
    assert anew[6]["wall_s"] == 30
    np.testing.assert_allclose(resumed.minutes, whole.minutes)
    assert frontier_table([resumed], ["box"], [3, 6]) == frontier_table([whole], ["box"], [3, 6])
    assert run_table([resumed]) == run_table([whole])
    twice = np.array([1.0, 3.0, 1.0, 2.0, 0.5])
    np.testing.assert_allclose(accumulated(twice), [1, 3, 4, 5, 5.5])


def test_lost_work_counts_once_and_broken_lines_not_at_all(tmp_path):
    lost = [line(k, 0.5 * k, 9.0) for k in (7, 8)]  # then resumed from iteration 6
    path = written(tmp_path / "run.jsonl", [*STRAIGHT[:6], *lost, *STRAIGHT[6:], STRAIGHT[-1]])
    with path.open("a") as file:
        file.write('3\n{"iteration": 99}\n{"iteration": 13, "wall_s": 1')
    curve = read_curve(path, "run")
    np.testing.assert_allclose(curve.minutes, 0.5 * np.arange(1, 13))
    np.testing.assert_allclose(curve.frontier["box"], 0.1 * np.arange(1, 13))


def test_what_was_not_finite_is_skipped_and_a_missing_family_has_no_row(tmp_path):
    rows = [line(1, 1, 0.3), line(2, 2, None), line(3, 3, None)]
    one = read_curve(written(tmp_path / "one.jsonl", rows), "one")
    more = [line(1, 3, 0.4, **{"frontier/gap": 0.5})]
    two = read_curve(written(tmp_path / "two.jsonl", more), "two")
    assert one.after("box", 3) == 0.3
    assert one.after("gap", 3) is None
    assert trained_on([one, two]) == ["box", "gap"]  # flat has no sizes
    table = frontier_table([one, two], ["box", "gap"], [])
    assert [(row["family"], row["run"]) for row in table] == [
        *(("box", "one"), ("box", "two"), ("gap", "two")),
    ]


def test_a_run_that_stopped_just_before_a_minute_has_its_figure(tmp_path):
    curve = read_curve(written(tmp_path / "a.jsonl", [line(1, 1, 0.2), line(2, 8.8, 1.0)]), "a")
    assert curve.after("box", 9) == 1.0
    assert curve.after("box", 9.5) is None


def test_the_published_run_tells_what_its_log_tells():
    curve = read_curve(Path(__file__).parents[2] / "experiments" / "teacher-0.jsonl", "teacher-0")
    (row,) = run_table([curve])
    assert row["iterations"] == 1361
    assert row["minutes"] == pytest.approx(6.7, abs=0.01)
    assert row["steps/s"] == pytest.approx(476e3, rel=0.005)  # experiments/queue.md


def test_minutes_of_a_table():
    assert round_minutes(8.9) == [3, 6, 9]
    assert round_minutes(2) == []
    assert round_minutes(20) == [3, 6, 9, 12, 15, 18]
    assert round_minutes(24) == [6, 12, 18, 24]
    assert 3 <= len(round_minutes(600)) <= 6


def test_names_are_as_short_as_tells_them_apart(tmp_path):
    for run in ("a/first", "b/first", "b/second"):
        written(tmp_path / run / "metrics.jsonl", STRAIGHT)
    a, b, c = (tmp_path / run for run in ("a/first", "b/first", "b/second"))
    assert labels([a, c]) == ["first", "second"]
    assert labels([a, b]) == ["a/first", "b/first"]
    assert labels([a / "metrics.jsonl", Path("experiments/teacher-0.jsonl")]) == [
        *("first", "teacher-0"),
    ]
    assert labels([a, b], ["x", "y"]) == ["x", "y"]
    with pytest.raises(UserError, match=r"1 --names for 2 curves"):
        labels([a, b], ["x"])
    for given in ((), ("x", "x")):
        with pytest.raises(UserError, match=r"two curves are called '.*'; give each a name"):
            labels([a, a], given)


def point(family: str, size: float, success: float) -> dict:
    low, high = max(0.0, success - 0.1), min(1.0, success + 0.1)
    told = {"family": family, "size": size, "unit": "m", "success": success}
    return told | {"low": low, "high": high}


def test_success_side_by_side(tmp_path):
    one = [point("gap", 0.5, 1.0), point("box", 0.3, 0.9), point("box", 0.2, 1.0)]
    two = [point("box", 0.3, 0.4), point("box", 0.7, 0.0)]
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"rows": one}))
    arms = {"one": read_success(file), "two": two}
    assert measured_on(arms) == ["box", "gap"]
    assert success_table(arms, ["box"]) == [
        {"family": "box", "size": 0.2, "unit": "m", "one": 1.0, "two": None},
        {"family": "box", "size": 0.3, "unit": "m", "one": 0.9, "two": 0.4},
        {"family": "box", "size": 0.7, "unit": "m", "one": None, "two": 0.0},
    ]


def test_mistakes_name_the_fix(tmp_path):
    toy = written(tmp_path / "toy.jsonl", [{"iteration": 1, "wall_s": 1.0, "frontier/flat": 0.0}])
    (tmp_path / "film.mp4").write_bytes(b"\x00\xff\xfe")
    for path in (tmp_path, tmp_path / "nope", tmp_path / "film.mp4"):
        with pytest.raises(UserError, match=r"no metrics in .*; name the folder of a swap train"):
            read_curve(path, "x")
    with pytest.raises(UserError, match=r"no frontier in .*; name a run that trained a robot"):
        read_curve(toy, "x")
    for k, text in enumerate(("", "[]", "{}", '{"rows": []}', '{"rows": [{"family": "box"}]}')):
        (tmp_path / f"{k}.json").write_text(text)
    for path in (tmp_path, tmp_path / "nope", *tmp_path.glob("*.json")):
        with pytest.raises(UserError, match=r"no success rates in .*; name a file of swap eval"):
            read_success(path)
    with pytest.raises(UserError, match="unknown course family 'bxo'; did you mean 'box'"):
        selected(["bxo"], ["box"])
    with pytest.raises(UserError, match="nothing here about 'stairs'; there is: box, gap"):
        selected(["stairs"], ["box", "gap"])
    assert selected([], ["box", "gap"]) == selected(["all"], ["box", "gap"]) == ["box", "gap"]
    assert selected(["gap", "gap"], ["box", "gap"]) == ["gap"]
