"""Whole studies at the smallest size: those that come with swap, and one that is killed and goes
on."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from small_study import STEPS, here, shrunk
from swap.cli import main as cli
from swap.cli import study as of
from swap.errors import UserError
from swap.presets import PRESETS
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.metrics import read_metrics
from swap.study.plan import Folder, create_folder
from swap.study.study import Run, read_study

TINY = PRESETS["tiny"]


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


def test_robots_with_which_runs_begin_must_be_there_for_those_that_are_left(tiny, tmp_path):
    """A study after another may go on where the first one's models are not kept."""
    tiny.write_text(
        tiny.read_text().replace('plain" = "', 'plain" = "--from out/none-{seed}.safetensors ')
    )
    root = tmp_path / "s"
    words = [tiny, "--out", root, "--print"]
    with pytest.raises(UserError, match=r"plain-0 train: .*none-0.safetensors"):
        study(*words)
    assert study(*words, "--arms", "mirror") == 0
    Folder(root).metrics(Run("plain", 0)).touch()  # is done
    with pytest.raises(UserError, match=r"plain-1 train: .*none-1.safetensors"):
        study(*words)
    Folder(root).metrics(Run("plain", 1)).touch()
    assert study(*words) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--family box", "--family bxo"), r"boxes: unknown course family 'bxo'; did you mean"),
        (("0.1 0.3", "0.1 9.0"), r"boxes: 'box' comes in 0.05 to 2.2 m, not 9"),
        (("0.1 0.3", "0.1 high"), r"boxes: .*high"),
        (("box = [", "bxo = ["), r"\[reach\]: unknown course family 'bxo'"),
        (("[0, 1]", '["0"]'), r"seed '0' is no whole number; write e.g. seeds = \[0, 1, 2\]"),
        (("[0, 1]", "3"), r"seeds = 3 is of no use; give a list of whole numbers"),
        ((f"steps = {STEPS}", 'steps = "9"'), r"steps = '9' is of no use; give a number without"),
    ],
)
def test_mistakes_in_the_file_are_told_before_anything_is_trained(change, says, tiny, tmp_path):
    text = tiny.read_text().replace('"box" = [', "box = [")
    assert change[0] in text
    tiny.write_text(text.replace(*change))
    with pytest.raises(UserError, match=says):
        study(tiny, "--out", tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_measurement_may_be_corrected_until_something_was_measured(tiny, tmp_path, in_process):
    words = ["--out", tmp_path / "s", "--seeds", 0, "--arms", "mirror"]
    assert study(tiny, *words, "--only", "train") == 0
    tiny.write_text(tiny.read_text().replace("0.1 0.3", "0.1 0.2"))
    assert study(tiny, *words) == 0
    tiny.write_text(tiny.read_text().replace("0.1 0.2", "0.1 0.3"))
    with pytest.raises(UserError, match=r"another measure.boxes.*--out, or another name"):
        study(tiny, *words)


@pytest.fixture
def changed_preset(tiny, tmp_path, in_process, monkeypatch):
    """A study of which seed 0 of one arm is trained, and whose preset has changed since."""
    assert study(tiny, "--out", tmp_path / "s", "--arms", "mirror", "--seeds", 0) == 0
    monkeypatch.setitem(PRESETS.added, "tiny", replace(TINY, ppo=replace(TINY.ppo, clip=0.3)))
    return ["--out", tmp_path / "s"]


TOLD = r"since its first run, the options of mirror .*: ppo.clip 0.2 -> 0.3; go on"


def test_a_preset_that_changed_between_two_sittings_is_told(tiny, changed_preset, monkeypatch):
    with pytest.raises(UserError, match=TOLD):
        study(tiny, *changed_preset, "--arms", "mirror")
    with pytest.raises(UserError, match=TOLD):
        study(tiny, *changed_preset, "--print")
    monkeypatch.setitem(PRESETS.added, "tiny", TINY)
    assert study(tiny, *changed_preset, "--arms", "mirror") == 0


@pytest.mark.parametrize(
    "words",
    [["--only", "measure"], ["--only", "figures"], ["--seeds", 0, "--arms", "mirror"]],
)
def test_a_changed_preset_matters_to_what_is_trained_alone(words, tiny, changed_preset):
    assert study(tiny, *changed_preset, *words) == 0


def test_another_arm_of_the_same_preset_begins_with_what_it_means_now(
    tiny, changed_preset, tmp_path
):
    assert study(tiny, *changed_preset, "--arms", "plain", "--seeds", 0) == 0
    told = [
        json.loads((tmp_path / f"s/configs/{arm}.json").read_text()) for arm in ("mirror", "plain")
    ]
    assert [x["cfg"]["ppo"]["clip"] for x in told] == [0.2, 0.3]


def test_an_arm_that_is_trained_anew_means_what_it_means_now(tiny, changed_preset, tmp_path):
    folder, run = Folder(tmp_path / "s"), Run("mirror", 0)
    folder.metrics(run).unlink()
    shutil.rmtree(folder.run(run))
    assert study(tiny, *changed_preset, "--arms", "mirror", "--seeds", 0, "--only", "train") == 0
    assert json.loads(folder.config("mirror").read_text())["cfg"]["ppo"]["clip"] == 0.3


def test_a_damaged_config_of_an_arm_is_told(tiny, changed_preset, tmp_path):
    (tmp_path / "s/configs/mirror.json").write_text("[1]")
    with pytest.raises(UserError, match=r"mirror.json' cannot be read; remove it"):
        study(tiny, *changed_preset, "--arms", "mirror")


def test_arms_may_name_code_of_the_same_name_in_two_files(tiny, tmp_path, in_process):
    text = "from swap.presets import PRESETS\nCALM = PRESETS['tiny']\n"
    for name in ("v1", "v2"):
        (tmp_path / f"{name}.py").write_text(text)
    words = tiny.read_text()
    for name, arm in (("v1", "mirror"), ("v2", "plain")):
        words = re.sub(
            rf'("?{arm}"? = ")--preset tiny', rf"\g<1>--preset {tmp_path}/{name}.py:CALM", words
        )
    tiny.write_text(words)
    command = [tiny, "--out", tmp_path / "s", "--allow-code", "--only", "train"]
    assert study(*command, "--seeds", 0) == 0
    assert study(*command) == 0


def test_figures_of_another_study_and_folders_of_runs_are_refused(tiny, tmp_path):
    folder, run = Folder(tmp_path / "s"), tmp_path / "run"
    create_folder(read_study(tiny), folder)
    folder.run(Run("mirror", 0)).mkdir()
    report = folder.root / "report.md"
    report.write_text("mine")
    with pytest.raises(UserError, match=r"begun with mirror in \[arms\]"):
        study("arms", "--out", folder.root, "--only", "figures")
    assert report.read_text() == "mine"
    with pytest.raises(UserError, match=r"begun with mirror in \[arms\]"):
        study("arms", "--out", folder.root)
    assert not (folder.root / "run.lock").exists()
    (run / "checkpoints").mkdir(parents=True)
    with pytest.raises(UserError, match="holds a run, not a study; give another --out"):
        study(tiny, "--out", run)
    assert [path.name for path in run.iterdir()] == ["checkpoints"]
    with pytest.raises(UserError, match=r"e.g. swap study experiments/mirrored --only figures"):
        study(tiny, "--out", tmp_path / "none", "--only", "figures")


def test_the_command_to_go_on_has_all_options():
    words = ["my.toml", "--out", "a b", "--at-once", "2", "--arms", "x", "y", "--seeds", "0"]
    words += ["--only", "train", "--device", "cpu", "--allow-code"]
    args = cli.parse(of.Args, "swap study", [*words, "--minutes", "3"])
    assert of.resume_command(args) == shlex.join(["swap", "study", *words])


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
