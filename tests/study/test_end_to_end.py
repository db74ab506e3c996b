"""Whole studies at the smallest size: those that come with swap, and one that is killed and goes
on."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from small_study import STEPS, here, shrunk
from swap.cli import main as cli
from swap.errors import UserError
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.metrics import read_metrics
from swap.study.plan import Folder
from swap.study.study import read_study


def figures(path):
    """The metrics without times."""
    timed = ("wall_s", "time/")
    return [{k: x for k, x in row.items() if not k.startswith(timed)} for row in read_metrics(path)]


def study(*words):
    return cli.dispatch(["study", *map(str, words), "--device", "cpu"])


@pytest.mark.parametrize("name", ["arms", "mirrored", "paper-reward"])
def test_a_study_that_ships_runs_from_end_to_end(
    name, in_process, short_trials, tmp_path, monkeypatch, capsys
):
    """Two arms, two seeds; stopped after every few commands, and called again."""
    file, root = shrunk(name, tmp_path / f"{name}.toml"), tmp_path / "s"
    what, folder = read_study(file), Folder(tmp_path / "s")
    started: list[str] = []

    def breaks_down(env):
        budget = [13]

        def start(command, log):
            if not budget[0]:
                raise ConnectionError  # whatever may happen to a study
            budget[0] -= 1
            started.append(command.label)
            return here(command, log)

        return start

    monkeypatch.setattr("swap.study.work.start_process", breaks_down)
    for _ in range(20):
        try:
            assert study(file, "--out", root) == 0
            break
        except ConnectionError:
            continue
    runs = len(what.runs)
    commands = runs * (2 + len(what.measure)) + 2 * len(what.film)
    assert len(started) == len(set(started)) == commands  # nothing was done twice
    for run in what.runs:
        rows = read_metrics(folder.metrics(run))
        assert rows[-1]["steps"] == STEPS  # the same budget for all
        for measure in what.measure:
            assert json.loads(folder.measured(measure, run).read_text())["rows"]
    text = (root / "report.md").read_text()
    for arm in what.arms:
        assert f"| {arm}-1 | done |" in text
    assert f"{runs} of {runs} runs are trained and measured" in capsys.readouterr().out
    wanted = {"success", "learning", *(f"film-{x}" for x in what.film)}
    wanted |= {"reconstruction"} & set(what.measure)
    assert {path.stem for path in root.glob("*.png")} == wanted

    # What matters is small: without the run folders and models everything can be drawn again.
    for part in ("runs", "models", "logs"):
        shutil.rmtree(root / part)
    (root / "report.md").unlink()
    assert study(file, "--out", root, "--only", "figures") == 0
    assert (root / "report.md").read_text() == text
    assert study(root) == 0  # by its folder: nothing is left to do
    assert len(started) == commands


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own way")
def test_a_study_that_is_killed_goes_on_as_if_it_had_not_been(tiny, tmp_path, in_process):
    """Real processes; SIGKILL in the middle of a run, which then saves and ends; and the study
    again."""
    long = 40  # iterations of 24 steps
    tiny.write_text(tiny.read_text().replace(f"steps = {STEPS}", f"steps = {24 * long}"))
    folder, undisturbed = Folder(tmp_path / "killed"), Folder(tmp_path / "undisturbed")
    both = read_study(tiny).runs[:2]
    words = [sys.executable, "-m", "swap", "study", tiny, "--out", folder.root, "--device", "cpu"]
    words += ["--at-once", "2", "--seeds", "0", "--only", "train"]
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL)
    wait_for(lambda: any(lines(folder.run(run)) > 4 for run in both))
    children = children_of(process.pid)
    assert len(children) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(child.exists() for child in children))
    begun = max(both, key=lambda run: lines(folder.run(run)))
    newest = max(numbered(folder.run(begun) / FOLDER))
    assert 4 < newest < long
    assert f"saved {newest:06d}; go on with" in folder.log(begun).read_text()
    assert not folder.metrics(begun).exists()
    assert study(tiny, "--out", folder.root, "--seeds", 0, "--only", "train") == 0
    assert "from iteration" in folder.log(begun).read_text()
    for run in both:
        told = [row["iteration"] for row in read_metrics(folder.run(run))]
        assert told == list(range(1, long + 1))
    words = ["--seeds", 0, "--arms", begun.arm, "--only", "train"]
    assert study(tiny, "--out", undisturbed.root, *words) == 0
    assert figures(folder.run(begun)) == figures(undisturbed.run(begun))
    assert figures(folder.metrics(begun)) == figures(undisturbed.metrics(begun))
    models = [place.model(begun).read_bytes() for place in (folder, undisturbed)]
    assert models[0] == models[1]


def lines(home):
    file = home / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def children_of(pid):
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [Path("/proc") / child for child in told.split()]


def wait_for(true, seconds=120):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_failure_is_told_and_tried_again_the_next_time(tiny, tmp_path, in_process, capsys):
    root = tmp_path / "s"
    (root / "models" / "mirror-0.safetensors").mkdir(parents=True)  # a folder in its place
    assert study(tiny, "--out", root, "--seeds", 0, "--arms", "mirror") == 1
    shown = capsys.readouterr().out
    assert "mirror-0 keep failed (exit code 2)" in shown
    assert "0 of 4 runs" in shown
    (root / "models" / "mirror-0.safetensors").rmdir()
    assert study(tiny, "--out", root, "--seeds", 0, "--arms", "mirror") == 0
    assert "begin: mirror-0 train" not in capsys.readouterr().out  # it was trained


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--arms", "mirorr"], "unknown arm 'mirorr'; did you mean 'mirror'"),
        (["--seeds", "7"], "--seeds 7: the study has 0, 1"),
        (["--at-once", "0"], "--at-once 0; use 1 or more"),
        (["--minutes", "0"], "--minutes 0"),
        (["--slurm", "--print"], "--slurm submits jobs"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(words, says, tiny, tmp_path):
    with pytest.raises(UserError, match=says):
        study(tiny, "--out", tmp_path / "s", *words)
    assert not (tmp_path / "s").exists()


def test_an_option_that_does_not_exist_is_told_with_its_arm(tiny, tmp_path):
    tiny.write_text(tiny.read_text().replace("--policy.no-equivariant", "--policy.no-equivarant"))
    with pytest.raises(UserError, match=r"study 'tiny', plain-0 train: .*equivar"):
        study(tiny, "--out", tmp_path / "s")
    tiny.write_text(
        tiny.read_text().replace("--policy.no-equivarant", "").replace("--sizes", "--sies")
    )
    with pytest.raises(UserError, match=r"study 'tiny', mirror-0 boxes: .*sies"):
        study(tiny, "--out", tmp_path / "s")


def test_code_that_a_study_file_names_is_not_run_unless_it_is_allowed(tiny, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("from swap.presets import PRESETS\nQUICK = PRESETS['tiny']\nopen('ran', 'w')\n")
    tiny.write_text(tiny.read_text().replace('"--preset tiny"', f'"--preset {mine}:QUICK"'))
    with pytest.raises(UserError, match=r"the study names code, which is not run: .*mine.py:QUICK"):
        study(tiny, "--out", tmp_path / "s", "--print")


def test_a_study_that_runs_already_is_left_alone(tiny, tmp_path, in_process):
    from swap.runs.lock import locked

    with locked(tmp_path / "s"), pytest.raises(UserError, match="another"):
        study(tiny, "--out", tmp_path / "s")
