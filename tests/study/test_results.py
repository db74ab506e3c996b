"""Tables and figures of made-up results, against what they were made from."""

import itertools
import json

import numpy as np
import pytest

from made_up_results import RATES, SIZES, everything, learned, measured, one_arm, put, row
from swap.errors import UserError
from swap.study import figures, tables
from swap.study.report import write_report
from swap.study.results import Point, read_results, steps_to
from swap.study.study import Run


def test_scores_are_by_arm_seed_and_point(study, folder):
    everything(folder)
    results = read_results(study, folder)
    points = [Point("both", "box", size, 1.0) for size in SIZES]
    assert results.points() == points
    scores = results.scores(points)
    assert {arm: x.tolist() for arm, x in scores.items()} == {
        arm: [list(x) for x in seeds] for arm, seeds in RATES.items()
    }
    folder.measured("boxes", Run("plain", 1)).unlink()
    assert len(read_results(study, folder).scores(points)["plain"]) == 2


def test_the_tables_say_what_was_measured(study, folder):
    everything(folder)
    results = read_results(study, folder)
    first, second = tables.success_table(results)
    assert first["size"] == "0.5 m"
    assert first["ours"].startswith("96.7 (")  # of three seeds all count
    assert second["plain"].startswith("35.0 (")
    (whole,) = tables.summary_table(results)
    # Six scores, of which the lowest and the highest are left out.
    assert whole["ours"].startswith(f"{100 * np.mean([0.8, 0.9, 0.9, 1.0]):.1f} (")
    better, worse = tables.improvement_table(results)
    pairs = itertools.product(RATES["ours"], RATES["plain"], range(2))
    wins = [1.0 if a[p] > b[p] else 0.5 if a[p] == b[p] else 0.0 for a, b, p in pairs]
    assert (better["arm"], better["> ours"]) == ("ours", "-")
    assert better["> plain"].startswith(f"{100 * np.mean(wins):.1f} (")
    assert worse["> ours"].startswith(f"{100 - 100 * np.mean(wins):.1f} (")


def test_of_one_seed_there_is_no_interval(study, folder):
    measured(folder, "ours", 0)
    first, _ = tables.success_table(read_results(study, folder))
    assert first["ours"] == "100.0 (1 seed)"
    assert "plain" not in first


def test_frontiers_are_compared_along_the_way(study, folder):
    for seed, speed in enumerate((1.0, 0.4, 0.6)):
        learned(folder, "ours", seed, speed)
    (row,) = tables.frontier_table(read_results(study, folder))
    assert (row["family"], row["arm"], row["seeds"]) == ("box", "ours", 3)
    # A line each 100 steps, on which the frontier is 1/1000 of the steps times the speed.
    assert row["0.00025 M steps"] == "0.17 (0.10 to 0.25)"
    assert row["0.001 M steps"] == "0.67 (0.40 to 1.00)"


def test_runs_on_flat_ground_have_a_report_without_frontiers(study, folder):
    rows = [{"iteration": k, "wall_s": 6.0 * k, "steps": 100.0 * k} for k in (1, 2)]
    text = "".join(json.dumps(row | {"frontier/flat": 0.0}) + "\n" for row in rows)
    folder.metrics(Run("ours", 0)).write_text(text)
    (report,) = write_report(study, folder)
    assert "| ours-0 | done | 0.0002 | 0.2 |" in report.read_text()


def test_sizes_are_reached_between_two_lines(study, folder):
    everything(folder)
    results = read_results(study, folder)
    slow = results.curves[Run("plain", 0)]
    assert steps_to(slow, "box", 0.5) == pytest.approx((100 * 0.5 / 0.085, 0.1 * 0.5 / 0.085))
    assert steps_to(slow, "box", 0.9) is None
    assert steps_to(slow, "box", 0.01) == pytest.approx((100.0, 0.1))  # it began beyond
    assert steps_to(slow, "gap", 0.1) is None
    rows = {(row["size"], row["arm"]): row for row in tables.reach_table(results)}
    assert rows["0.9 m", "ours"]["reached by"] == "3 of 3 seeds"
    assert rows["0.9 m", "ours"]["M steps"] == "0.0009, 0.0009, 0.0009"
    assert rows["0.9 m", "plain"]["reached by"] == "0 of 3 seeds"
    assert rows["0.9 m", "plain"]["M steps"] == "-, -, -"


def test_runs_that_are_missing_are_named(study, folder):
    learned(folder, "ours", 0)
    home = folder.run(Run("plain", 0))
    home.mkdir(parents=True)
    (home / "metrics.jsonl").write_text('{"iteration": 1, "steps": 5e5}\n{"iteration": 2, "ste')
    rows = {r["run"]: r for r in tables.runs_table(read_results(study, folder), folder)}
    assert rows["ours-0"]["state"] == "done"
    assert rows["ours-0"]["not measured"] == "boxes, moves, seen, pairs"
    assert rows["plain-0"]["state"] == "stopped at 0.5 M steps"
    assert rows["ours-2"]["state"] == "missing"


def test_nothing_is_drawn_of_nothing_and_figures_show_the_scores(study, folder):
    empty = read_results(study, folder)
    assert figures.success_figure(empty) is None
    assert figures.learning_figure(empty) is None
    assert figures.reconstruction_figures(empty) == {}
    assert [path.name for path in write_report(study, folder)] == ["report.md"]
    everything(folder)
    results = read_results(study, folder)
    figure = figures.success_figure(results)
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["ours"].get_xdata().tolist() == list(SIZES)
    assert lines["ours"].get_ydata() == pytest.approx(
        [np.mean([1, 1, 0.9]), np.mean([0.9, 0.7, 0.8])]
    )
    figure = figures.learning_figure(results)
    end = {line.get_label(): line.get_ydata()[-1] for line in figure.axes[0].get_lines()}
    assert end == pytest.approx({"ours": 1.0, "plain": 0.85})
    names = [path.name for path in write_report(study, folder)]
    assert names == ["success.png", "learning.png", "report.md"]
    text = (folder.root / "report.md").read_text()
    for word in ("96.7", "![success.png]", "## When sizes were reached", "| ours-2 | done |"):
        assert word in text
    assert "## How they move" not in text


def test_what_is_measured_under_other_conditions_is_another_point(tmp_path):
    study, folder = one_arm(
        tmp_path,
        boxes="eval --family box --sizes 1 --trials 9 --conditions wet",
        blind="eval --family box --sizes 1 --blind --randomness swap",
    )
    both = [row(1.0, 0.9, conditions="nominal"), row(1.0, 0.2, conditions="wet")]
    put(folder.measured("boxes", Run("a", 0)), rows=both)
    put(folder.measured("blind", Run("a", 0)), rows=[row(1.0, 0.1)])
    results = read_results(study, folder)
    told = {r.get("under", ""): r["a"] for r in tables.success_table(results)}
    assert told == {
        "": "90.0 (1 seed)",
        "--blind --randomness swap": "10.0 (1 seed)",
        "wet": "20.0 (1 seed)",
    }
    titles = [axes.get_title(loc="left") for axes in figures.success_figure(results).axes]
    assert titles == ["box", "box\n--blind --randomness swap", "box\nwet"]


def test_what_is_measured_twice_has_the_name_of_the_measurement(tmp_path):
    words = "eval --family box --sizes 1"
    study, folder = one_arm(tmp_path, boxes=words, again=words + " --trials 9")
    for name, rate in (("boxes", 0.9), ("again", 0.8)):
        put(folder.measured(name, Run("a", 0)), rows=[row(1.0, rate)])
    told = tables.success_table(read_results(study, folder))
    assert [(r.get("under"), r["a"]) for r in told] == [
        (None, "90.0 (1 seed)"),
        ("again", "80.0 (1 seed)"),
    ]


def test_seeds_without_all_sizes_are_counted(tmp_path):
    study, folder = one_arm(
        tmp_path, low="eval --family box --sizes 1", high="eval --family box --sizes 1.2"
    )
    for seed, rate in enumerate((0.9, 0.8, 0.1)):
        put(folder.measured("low", Run("a", seed)), rows=[row(1.0, rate)])
    for seed, rate in enumerate((0.9, 0.8)):
        put(folder.measured("high", Run("a", seed)), rows=[row(1.2, rate)])
    (told,) = tables.summary_table(read_results(study, folder))
    assert told["a"] == "85.0 (80.0 to 90.0) 2 of 3 seeds have all sizes"


def test_a_family_of_the_users_own_comes_last(tmp_path):
    study, folder = one_arm(tmp_path, own="eval --family hurdles.py:H box --sizes 0.3")
    rows = [row(0.3, 0.9, family="hurdles"), row(0.3, 0.5)]
    put(folder.measured("own", Run("a", 0)), rows=rows)
    told = tables.success_table(read_results(study, folder))
    assert [(r["family"], r["size"]) for r in told] == [("box", "0.3 m"), ("hurdles", "0.3 m")]
    assert len(figures.success_figure(read_results(study, folder)).axes) == 2


def test_records_have_a_table(tmp_path):
    study, folder = one_arm(tmp_path, highest="record --trials 9")
    for seed, size in enumerate((1.5, None)):
        rows = [{"family": "box", "fraction": 0.9, "size": size}]
        put(folder.measured("highest", Run("a", seed)), rows=rows)
    (told,) = tables.record_table(read_results(study, folder))
    assert (told["family"], told["share of trials"], told["a"]) == ("box", "90%", "1.50, none")


def test_reports_say_how_much_intervals_of_few_seeds_hold(study, folder):
    everything(folder)
    folder.measured("boxes", Run("plain", 1)).unlink()
    write_report(study, folder)
    text = (folder.root / "report.md").read_text()
    assert "true value in 50 of 100 cases with 2 seeds, in 75 of 100 cases with 3 seeds;" in text


def test_two_sides_are_two_rows_of_panels(study, folder):
    for seed, side in ((0, "left"), (1, "right")):
        measured(folder, "ours", seed, side)
    figure = figures.success_figure(read_results(study, folder))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["box\nhigh on the left", "box\nhigh on the right"]


def test_the_legend_has_the_number_of_seeds_where_some_are_missing(study, folder):
    everything(folder)
    whole = figures.success_figure(read_results(study, folder)).axes[0]
    assert {line.get_label() for line in whole.get_lines()} == {"ours", "plain"}
    folder.measured("boxes", Run("plain", 1)).unlink()
    folder.metrics(Run("ours", 0)).unlink()
    results = read_results(study, folder)
    (axes,) = figures.success_figure(results).axes
    assert {line.get_label() for line in axes.get_lines()} == {"ours", "plain (2 seeds)"}
    (axes,) = figures.learning_figure(results).axes
    assert {line.get_label() for line in axes.get_lines()} == {"ours (2 seeds)", "plain"}
    for seed in study.seeds:
        folder.metrics(Run("plain", seed)).unlink(missing_ok=True)
    (axes,) = figures.learning_figure(read_results(study, folder)).axes
    assert {line.get_label() for line in axes.get_lines()} == {"ours (2 seeds)", "plain (missing)"}


def test_a_file_that_is_damaged_is_told_in_one_line(study, folder):
    folder.measured("boxes", Run("ours", 0)).write_text("{")
    with pytest.raises(UserError, match="remove it, and it is measured again"):
        read_results(study, folder)
