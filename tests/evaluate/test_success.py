"""Success rates and intervals, measured from a run folder and from a kept file."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from swap.cli import main as cli
from swap.errors import UserError
from swap.evaluate.success import points
from swap.evaluate.wilson import wilson
from swap.runs.trained_robot import load_trained


def test_wilson_against_known_values():
    # Newcombe (1998), Table I: 81 of 263 and 0 of 20
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    low, high = wilson(20, 20)
    assert high == 1
    assert low == pytest.approx(1 - 0.1611, abs=1e-4)


def test_wilson_holds_the_true_rate_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for rate in (0.03, 0.5, 0.9):
        won = rng.binomial(60, rate, size=4000)
        inside = np.mean([low <= rate <= high for low, high in (wilson(int(k), 60) for k in won)])
        assert 0.92 < inside < 0.98


def test_points_span_each_family():
    wanted = points(["flat", "box"], 3)
    assert wanted == [("flat", 0.0), ("box", 0.0), ("box", 0.5), ("box", 1.0)]
    assert points(["box", "stairs"], 2, max_difficulty=1.1)[1::2] == [("box", 1.1), ("stairs", 1.0)]
    assert points(["flat", "gap"], 2, max_difficulty=0.2) == [
        ("flat", 0.0),
        ("gap", 0.0),
        ("gap", 0.2),
    ]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run of one iteration: it has learned nothing, but everything is in its place."""
    folder = tmp_path_factory.mktemp("runs") / "one"
    words = ["train", "--preset", "tiny", "--iterations", "1", "--worlds", "4", "--ppo.steps", "4"]
    words += ["--out", str(folder), "--device", "cpu", "--no-tensorboard"]
    assert cli.dispatch(words) == 0
    return folder


def test_eval_measures_with_the_friction_cones_asked_for(run_folder, tmp_path, capsys):
    file = tmp_path / "eval.json"
    words = ["eval", str(run_folder), "--family", "flat", "--trials", "3", "--points", "1"]
    words += ["--device", "cpu", "--json", str(file)]
    cones = []
    for more in ([], ["--friction-cone", "elliptic"]):
        cli.dispatch([*words, *more])
        cones.append(json.loads(file.read_text())["facts"].get("friction_cone"))
        assert ("friction cones: elliptic." in capsys.readouterr().out) == bool(more)
    assert cones == [None, "elliptic"]


def test_eval_gives_the_same_figures_for_a_run_and_for_its_kept_file(run_folder, tmp_path, capsys):
    kept, tables = tmp_path / "policy.safetensors", []
    assert cli.dispatch(["keep", str(run_folder), "--out", str(kept)]) == 0
    for source in (run_folder, kept):
        file = tmp_path / "eval.json"
        words = ["eval", str(source), "--family", "flat", "--trials", "3", "--points", "1"]
        assert cli.dispatch([*words, "--device", "cpu", "--json", str(file)]) == 0
        tables.append(json.loads(file.read_text())["rows"])
    assert tables[0] == tables[1]
    (row,) = tables[0]
    assert row["trials"] == 3
    assert (row["speed"], row["side"]) == (1.0, "both")
    assert sum(row["reasons"].values()) + round(row["success"] * 3) == 3
    assert row["stalled"] == row["reasons"].get("stalled", 0) / 3
    assert row["low"] <= row["success"] <= row["high"]
    assert "success at 1 m/s" in capsys.readouterr().out
    assert file.with_suffix(".png").stat().st_size > 1000  # of the run folder


def test_why_is_a_table_of_what_was_random(run_folder, tmp_path, capsys):
    words = ["eval", str(run_folder), "--family", "flat", "--trials", "8", "--device", "cpu"]
    assert cli.dispatch([*words, "--speed", "0.5", "1", "--why"]) == 0
    assert capsys.readouterr().out.count("Nothing was random") == 1  # tiny has one robot only
    file = tmp_path / "eval.json"
    words[1] = "teacher"
    assert cli.dispatch([*words, "--why", "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    text = capsys.readouterr().out
    assert "flat 0 m at 1 m/s: success by what was random" in text
    for cause in row["causes"]:
        assert cause["what"] in text
        for part in cause["parts"]:
            assert f"{part['low']:.3g} to {part['high']:.3g}: {part['success']:.0%}" in text


def test_sizes_are_measured_as_they_are_asked_for(run_folder, tmp_path):
    file = tmp_path / "eval.json"
    words = ["eval", str(run_folder), "--sizes", "0.35", "0.4", "--trials", "1", "--device", "cpu"]
    assert cli.dispatch([*words, "--family", "gap", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["family"] for row in rows] == ["gap", "gap"]
    assert [row["size"] for row in rows] == pytest.approx([0.35, 0.4])
    with pytest.raises(UserError, match=r"--sizes are of one family; name it with --family"):
        cli.dispatch(words)
    with pytest.raises(UserError, match=r"'box' comes in 0.05 to 2.2 m, not 3"):
        cli.dispatch([*words[:2], "--sizes", "3", "--family", "box", "--device", "cpu"])


def test_several_speeds_are_a_column_and_lines_of_the_figure(
    run_folder, tmp_path, capsys, monkeypatch
):
    from swap.evaluate import figures

    drawn = []
    monkeypatch.setattr(figures, "write", lambda figure, path: drawn.append(figure))
    file = tmp_path / "eval.json"
    words = ["eval", str(run_folder), "--family", "gap", "--points", "2", "--trials", "1"]
    words += ["--device", "cpu", "--json", str(file), "--side", "right"]
    assert cli.dispatch([*words, "--speed", "0.5", "1.5", "0.5"]) == 0
    told = json.loads(file.read_text())
    assert [row["speed"] for row in told["rows"]] == [0.5, 0.5, 1.5, 1.5]
    assert told["facts"]["speeds_mps"] == [0.5, 1.5]
    names = [line.get_label() for line in drawn[0].axes[0].get_lines()]
    assert names == ["0.5 m/s", "1.5 m/s"]
    (legend,) = drawn[0].legends
    assert "success at 0.5, 1.5 m/s" in legend.get_title().get_text()
    assert drawn[0].get_suptitle() == ""  # it would be printed over the names
    text = capsys.readouterr().out
    assert "success at 0.5, 1.5 m/s" in text
    assert "speed ┃" in text
    assert "right" in text
    assert cli.dispatch([*words, "--speed", "0.5"]) == 0
    assert "speed ┃" not in capsys.readouterr().out
    assert {row["speed"] for row in json.loads(file.read_text())["rows"]} == {0.5}
    assert len(drawn[1].axes[0].get_lines()) == 1


def test_a_run_folder_gets_its_figure_others_only_when_asked(tmp_path, capsys):
    from swap.cli.eval import Args, picture

    file, other = tmp_path / "p.safetensors", tmp_path / "x.svg"
    checkpoint, told = tmp_path / "checkpoints" / "000353", tmp_path / "b.json"
    checkpoint.mkdir(parents=True)  # what makes a folder a run
    file.touch()
    usual = picture(Args(tmp_path))
    assert usual.parent == tmp_path
    assert re.fullmatch(r"eval-\d{8}-\d{6}\.png", usual.name)  # it replaces no other one
    assert picture(Args(tmp_path, json=told)) == tmp_path / "b.png"
    assert picture(Args(tmp_path, plot=other)) == other
    for place in (file, checkpoint):
        assert picture(Args(place)) is None
        assert picture(Args(place, json=told)) is None
        assert picture(Args(place, plot=other)) == other
    assert capsys.readouterr().out == ""
    (tmp_path / "b.png").mkdir()  # it cannot be written, and nobody has asked for it
    assert picture(Args(tmp_path, json=told)) is None
    assert capsys.readouterr().out.startswith(f"no figure: cannot write '{tmp_path}/b.png' (Is")


def test_play_films_an_attempt(run_folder, tmp_path, capsys):
    film, still = tmp_path / "film.mp4", tmp_path / "still.png"
    words = ["play", str(run_folder), "--family", "gap", "--size", "0.5", "--mirror"]
    words += ["--width", "160", "--fps", "12.5"]
    assert cli.dispatch([*words, "--out", str(film), "--still", str(still)]) == 0
    assert film.stat().st_size > 1000
    assert still.stat().st_size > 1000
    assert "gap 0.50 m:" in capsys.readouterr().out


def test_play_films_one_course_after_the_other(run_folder, tmp_path, capsys):
    film, still = tmp_path / "film.gif", tmp_path / "still.png"
    words = ["play", str(run_folder), "--width", "96", "--fps", "12.5"]
    words += ["--out", str(film), "--still", str(still)]
    frames, times = [], []
    for several in (["flat", "0"], ["box", "0.3"], ["flat", "box", "0", "0.3"]):
        families, sizes = several[: len(several) // 2], several[len(several) // 2 :]
        assert cli.dispatch([*words, "--family", *families, "--size", *sizes]) == 0
        with Image.open(film) as image:
            assert (image.size, image.info["duration"]) == ((96, 54), 80)
            frames.append(image.n_frames)
        with Image.open(still) as image:
            assert image.size == (4 * 96 + 3 * 4, 58 * len(families) - 4)
        times.append(re.findall(r"(\w+ [\d.]+ m: \w+ after [\d.]+ s);", capsys.readouterr().out))
    # Each attempt is what it is alone.
    assert times[2] == times[0] + times[1]
    assert frames[2] == frames[0] + frames[1]


def test_play_without_sizes_stays_within_what_the_robot_trained_on(run_folder, tmp_path, capsys):
    words = ["--width", "96", "--fps", "10", "--out", str(tmp_path / "film.gif")]
    assert cli.dispatch(["play", str(run_folder), "--family", "flat", "box", *words]) == 0
    assert "\nbox 0.14 m: " in capsys.readouterr().out  # a quarter of the way from 0.05 to 0.42 m


def test_play_names_the_fix(run_folder):
    words = ["play", str(run_folder), "--family", "box", "gap"]
    with pytest.raises(UserError, match="names 2 obstacles, --size 1 sizes; give as many of both"):
        cli.dispatch([*words, "--size", "0.5"])
    with pytest.raises(UserError, match=r"--fps 24; use one of 50, 25, 12\.5, 10"):
        cli.dispatch([*words, "--fps", "24"])
    with pytest.raises(UserError, match="a picture of 5000x2812; use 16 to 4096"):
        cli.dispatch([*words, "--width", "5000"])


@pytest.mark.parametrize("name", ["teacher", "swap"])
def test_the_published_robots_load_and_climb(name):
    from swap.courses import difficulty_of, make
    from swap.evaluate.success import run_trials

    robot = load_trained(Path(__file__).parents[2] / "models" / f"{name}.safetensors")
    rng = np.random.default_rng(0)
    courses = [make("box", difficulty_of("box", 0.5), rng) for _ in range(4)]
    outcome = run_trials(robot, courses, each=2, speed_mps=1.0, device="cpu", seed=3)
    assert outcome.success.float().mean() >= 0.75  # 99 % or better in 500 trials and more


def test_mistakes_name_the_fix(tmp_path, run_folder):
    with pytest.raises(UserError, match=r"no checkpoint in .*; name the folder of a run"):
        cli.dispatch(["eval", str(tmp_path)])
    with pytest.raises(UserError, match="unknown course family 'bxo'; did you mean 'box'"):
        cli.dispatch(["eval", str(run_folder), "--family", "bxo", "--device", "cpu"])
    with pytest.raises(UserError, match=r"cannot draw 'x.doc'; use a name that ends in"):
        cli.dispatch(["eval", str(run_folder), "--plot", "x.doc", "--device", "cpu"])
    with pytest.raises(UserError, match="--trials 0; use 1 or more"):
        cli.dispatch(["eval", str(run_folder), "--trials", "0", "--device", "cpu"])
    with pytest.raises(UserError, match="--seed -1; use 0 or more"):
        cli.dispatch(["eval", str(run_folder), "--seed", "-1", "--device", "cpu"])
    with pytest.raises(UserError, match="--side"):
        cli.dispatch(["eval", str(run_folder), "--side", "up", "--device", "cpu"])
    for speed in ("nan", "-1", "0", "inf"):
        with pytest.raises(UserError, match=r"--speed 1\.0 .*; (use more than 0|give a finite)"):
            cli.dispatch(["eval", str(run_folder), "--speed", "1", speed, "--device", "cpu"])
    with pytest.raises(UserError, match=r"cannot read .*; name a --json file"):
        cli.dispatch(["keep", str(run_folder), "--out", "x.safetensors", "--figures", "nope"])
