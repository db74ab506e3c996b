"""`swap curves` from a user's point of view."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from swap.cli import main as cli
from swap.errors import UserError

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
RUN, EVAL = str(EXPERIMENTS / "teacher-0.jsonl"), str(EXPERIMENTS / "teacher-0-eval.json")


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is written, as an object."""
    from swap.evaluate import figures

    written, write = [], figures.write
    monkeypatch.setattr(figures, "write", lambda f, path: (written.append(f), write(f, path)))
    return written


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_runs_side_by_side(tmp_path, capsys, figures):
    out = tmp_path / "curves.png"
    words = ["curves", RUN, RUN, "--names", "one", "two", "--minutes", "6", "12", "--out", str(out)]
    assert cli.dispatch(words) == 0
    text = capsys.readouterr().out
    for what in ("6 min", "12 min", "one", "1,361", "195,984,000", "stairs", "0.914", str(out)):
        assert what in text
    assert "9 min" not in text
    assert out.stat().st_size > 1000
    assert cli.dispatch([*words, "--families", "all"]) == 0
    assert cli.dispatch([*words, "--families", "rocks"]) == 0
    five = ["box", "gap", "stairs", "lateral slope", "rocks"]
    assert [titles(figure) for figure in figures] == [["box", "gap"], five, ["rocks"]]
    assert all(len(axes.get_lines()) == 2 for figure in figures for axes in figure.axes)
    assert "gap" not in capsys.readouterr().out.rpartition("Frontier")[2]  # only what was asked for


def test_a_run_that_saw_no_box_is_drawn_all_the_same(tmp_path, figures):
    file = tmp_path / "stairs.jsonl"
    file.write_text(json.dumps({"iteration": 1, "wall_s": 60.0, "frontier/stairs": 0.1}))
    assert cli.dispatch(["curves", str(file), "--out", str(tmp_path / "x.svg")]) == 0
    assert [titles(figure) for figure in figures] == [["stairs"]]


def test_measured_policies_side_by_side(tmp_path, capsys, figures):
    out = tmp_path / "success.png"
    words = ["curves", "--eval", EVAL, EVAL, "--names", "one", "two", "--out", str(out)]
    assert cli.dispatch([*words, "--families", "box", "gap"]) == 0
    text = capsys.readouterr().out
    assert "0.89" in text  # boxes of 0.93 m
    assert "stairs" not in text
    (figure,) = figures
    assert titles(figure) == ["box", "gap"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [2, 2]
    assert out.stat().st_size > 1000


def test_speeds_of_one_file_are_lines_of_their_own(tmp_path, capsys, figures):
    file = tmp_path / "speeds.json"
    (row, *_) = (r for r in json.loads(Path(EVAL).read_text())["rows"] if r["family"] == "box")
    told = [row | {"speed": speed, "success": 0.1 * speed} for speed in (1.0, 2.0)]
    file.write_text(json.dumps({"rows": told}))
    words = ["curves", "--eval", EVAL, str(file), "--names", "old", "new", "--families", "box"]
    assert cli.dispatch([*words, "--out", str(tmp_path / "x.png")]) == 0
    text = capsys.readouterr().out
    assert "new 1 m/s" in text
    assert "new 2 m/s" in text
    (figure,) = figures
    names = [line.get_label() for line in figure.axes[0].get_lines()]
    assert names == ["old", "new 1 m/s", "new 2 m/s"]
    assert [float(line.get_ydata()[0]) for line in figure.axes[0].get_lines()[1:]] == [0.1, 0.2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name runs, or files of swap eval --json after --eval"),
        ([RUN, "--eval", EVAL], "name runs, or files of swap eval --json after --eval"),
        (["nope"], "no metrics in 'nope'; name the folder of a swap train run"),
        (["--eval", "nope"], "no success rates in 'nope'; name a file of swap eval --json"),
        ([RUN, "--families", "bxo"], "unknown course family 'bxo'; did you mean 'box'"),
        ([RUN, "--families", "tilted_box"], "nothing here about 'tilted_box'; there is: box"),
        ([RUN, "--minutes", "0"], "--minutes 0 is no time after the start"),
        ([RUN, "--names", "a", "b"], "2 --names for 1 curves"),
        ([RUN, "--out", "x.doc"], "cannot draw 'x.doc'"),
        ([RUN, "--out", "no/such/x.png"], "cannot write 'no/such/x.png'"),
    ],
)
def test_mistakes_name_the_fix(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        cli.dispatch(["curves", *words])
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_mistake_is_exit_code_2_and_matplotlib_waits_until_it_draws():
    code = (
        "import sys; sys.argv = ['swap', 'curves', 'nope']\n"
        "from swap.cli.main import main\n"
        "try: main()\n"
        "finally: print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stdout == "False\n"
