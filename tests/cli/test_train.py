"""`swap train` from a user's point of view: runs, kills, Ctrl-C, resumption, mistakes."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from command_line import swap
from swap.cli import main as cli
from swap.cli.train import parse
from swap.cli.train_argv import resolve_auto_preset
from swap.errors import UserError
from swap.presets import PRESETS, register
from swap.presets.table import get_preset
from swap.runs import load, read_metrics
from toy_preset import ToyCfg
from toy_run import TOY

TRAIN = ("train", "--preset", TOY, "--device", "cpu", "--no-tensorboard")
RESUME = ("train", "--preset", TOY, "--resume")


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "swap", *map(str, words)]


def wait_for(run: Path, iterations: int) -> None:
    for _ in range(600):
        file = run / "metrics.jsonl"
        if file.exists() and file.read_bytes().count(b"\n") >= iterations:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get on")


@pytest.mark.parametrize(
    ("goal", "minutes", "iterations"),
    [
        ([], 12.0, None),
        (["--minutes", "3"], 3.0, None),
        (["--iterations", "7"], None, 7),
        (["--minutes", "3", "--iterations=7"], 3.0, 7),
        (["--minutes", "None"], None, None),
    ],
)
def test_a_preset_knows_how_long_it_takes_until_it_is_told(goal, minutes, iterations):
    run = parse(["--preset", "tiny", "--device", "cpu", *goal]).cfg.run
    assert (run.minutes, run.iterations) == (minutes, iterations)


@pytest.mark.parametrize(
    "words",
    [
        ["--preset", "auto", "--device", "auto"],
        ["--device", "auto", "--preset", "auto"],
        ["--device=auto", "--preset=auto"],
        ["--preset=auto", "--device", "auto", "--engine", "auto"],
    ],
)
@pytest.mark.parametrize(("gpu", "name"), [(False, "tiny"), (True, "swap")])
def test_auto_is_what_suits_the_machine_for_the_preset_alone(words, gpu, name, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    changed = {"auto": name, "--preset=auto": f"--preset={name}"}
    told = resolve_auto_preset(words)
    at = next(i for i, word in enumerate(words) if word.startswith("--preset"))
    at += words[at] == "--preset"
    assert told == [changed[w] if i == at else w for i, w in enumerate(words)]
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    plan = parse(words)
    assert (plan.preset, plan.device) == ("tiny", "cpu")


def test_a_run_and_its_resumptions(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.dispatch([*TRAIN, "--iterations", "4", "--fit.lr", "0.02"]) == 0
    (run,) = (tmp_path / "out" / "train").iterdir()
    assert capsys.readouterr().out.splitlines()[-1].startswith("done: 4 iterations, 128 steps")
    stored = load(run).config
    assert stored["preset"] == TOY
    assert stored["cfg"]["fit"]["lr"] == 0.02

    assert cli.dispatch([*RESUME]) == 0  # the newest run; its goal is reached
    assert "nothing left to do: 4 iterations" in capsys.readouterr().out
    assert cli.dispatch(["train", "--iterations", "3", *RESUME[1:]]) == 0  # three more
    assert "from iteration 4" in capsys.readouterr().out
    assert (
        cli.dispatch([*RESUME[:3], f"--resume={run}", "--minutes", "0.02", "--fit.batch", "8"]) == 0
    )
    assert "changed: fit.batch 32 -> 8" in capsys.readouterr().out
    rows = read_metrics(run)
    assert [row["iteration"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) > 7
    found = load(run)
    assert found.iteration == len(rows)
    assert found.config["cfg"]["fit"] == stored["cfg"]["fit"] | {"batch": 8}
    assert found.config["cfg"]["run"]["minutes"] > 0.02  # a total, the first sittings included


def test_killed_and_resumed_it_ends_as_if_nothing_had_been(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    words = (*TRAIN, "--save-minutes", 0, "--out", killed)  # without end: it cannot outrun us
    child = subprocess.Popen(command(*words), stdout=subprocess.DEVNULL)
    wait_for(killed, 5)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    done = swap(*RESUME, killed, "--device", "cpu", "--iterations", 20)
    assert done.returncode == 0, done.stderr
    count = load(killed).iteration
    assert f"done: {count} iterations" in done.stdout
    assert swap(*TRAIN, "--iterations", count, "--out", whole).returncode == 0
    losses = [[row["fit/loss"] for row in read_metrics(run)] for run in (whole, killed)]
    assert losses[0] == losses[1]


def test_on_a_narrow_terminal_the_board_is_drawn_and_ctrl_c_works(tmp_path):
    run = tmp_path / "run"
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 60, 0, 0))
    take_terminal = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    take_terminal += "os.execv(sys.argv[1], sys.argv[1:])"
    child = subprocess.Popen(
        [sys.executable, "-c", take_terminal, *command(*TRAIN, "--out", run, "--minutes", 1)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"steps/s" not in shown:  # the board is drawn with all its figures
        shown += os.read(ours, 65536)
    os.write(ours, b"\x03")
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(ours)
    assert child.wait() == 130
    text = shown.decode()
    assert "left" in text
    assert "sine" in text
    assert "steps/s" in text
    assert "go on with" in text


def test_a_fault_is_one_line_and_exit_code_1(tmp_path):
    done = swap(*TRAIN, "--fit.nan-at", 5, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("swap: stopped at iteration 8: fit/loss is nan")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fit.bath", "3"], "Perhaps you meant: --fit.batch"),
        (["--fit.batch", "x"], "--fit.batch"),
        (["--net.act", "tan"], "--net.act"),
        (["--net.width", "0"], "width=0 holds nothing; use 16"),
        (["--keep-checkpoints", "0"], "keep_checkpoints=0 leaves none; use 1 or more, 3 is usual"),
        (["--minutes", "-1"], "minutes=-1.0; use 0 or more"),
        (["--device", "tpu"], "unknown device 'tpu'"),
        (["--resume", "/no/such/run"], "no checkpoint in '/no/such/run'"),
        (["--resume"], "no run in out/train to resume"),
        (["--out", "/dev/null/x"], "'/dev/null/x' (Not a directory); give another --out"),
        (["--out", "/proc/x"], "cannot write into '/proc/x' (No such file or directory); give an"),
    ],
)
def test_a_mistake_is_one_line(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("swap.cli.train.work", lambda *args: pytest.fail("it was begun"))
    with pytest.raises(UserError) as error:
        cli.dispatch(["train", "--preset", TOY, *words])
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()  # nothing was begun


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tiny", "swap train tiny: did you mean --preset tiny?"),
        ("mine.py:HURDLER", "swap train mine.py:HURDLER: did you mean --preset mine.py:HURDLER?"),
        ("out/try", "swap train out/try: give --preset NAME, --from ROBOT or --resume RUN"),
        ("--preset tiny --env.families box", "give pairs of NAME SHARE or NAME=SHARE, e.g. box 1"),
        ("--preset tiny --env.families=box 1 gap --seed 1", "--env.families box 1 gap: give pairs"),
        ("--preset tiny --env.families 1 box", "--env.families 1 box: give pairs of NAME SHARE"),
        ("--preset tiny --env.rewards.terms headway", "pairs of NAME WEIGHT or NAME=WEIGHT, e.g. "),
        ("--preset tiny --env.rewards.terms headway=a", "rewards.terms headway a: give pairs"),
    ],
)
def test_how_presets_and_pairs_are_typed_is_told(line, says):
    with pytest.raises(UserError) as error:
        parse(line.split())
    assert says in str(error.value)


def test_any_folder_that_can_be_written_will_do(tmp_path, monkeypatch):
    """Whatever else is in the parent folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    plan = parse([*TRAIN[1:], "--out", "new/folder"])
    assert plan.folder == Path("new/folder")
    assert [place.name for place in tmp_path.iterdir()] == ["run"]


def test_a_mistake_is_exit_code_2(tmp_path):
    done = swap(*TRAIN, "--fit.bath", "3", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_what_does_not_go_with_a_run_that_is_there(tmp_path):
    run = tmp_path / "run"
    assert cli.dispatch([*TRAIN, "--iterations", "1", "--out", str(run)]) == 0
    for words, says in (
        ([*TRAIN, "--out", str(run)], "already holds a run; go on with it by --resume"),
        ([*RESUME, str(run), "--seed", "3"], "a resumed run keeps its seed, 0"),
        (["train", "--resume", str(run), "--preset", "x"], f"that run is of preset '{TOY}'"),
        ([*RESUME, str(run), "--out", "x"], "omit --out"),
        ([*RESUME, str(run), "--net.width", "8", "--iterations", "1"], "does not fit"),
    ):
        with pytest.raises(UserError, match=says):
            cli.dispatch(words)


def test_a_damaged_checkpoint_is_passed_over_aloud(tmp_path, capsys):
    run = tmp_path / "run"
    assert cli.dispatch([*TRAIN, "--iterations", "2", "--out", str(run)]) == 0
    shard = run / "checkpoints" / "000002" / "000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    assert cli.dispatch([*RESUME, str(run)]) == 0
    out = capsys.readouterr().out
    assert "checkpoint 000002 is refused: 000.safetensors has" in out
    assert "using checkpoint 000000 instead" in out
    assert load(run).iteration == 2


def test_a_config_of_another_time_is_refused_by_key(tmp_path, monkeypatch):
    from swap.runs import checkpoint

    run = tmp_path / "run"
    assert cli.dispatch([*TRAIN, "--iterations", "1", "--out", str(run)]) == 0
    found = load(run)
    config = json.loads(json.dumps(found.config).replace('"batch"', '"bach"'))
    checkpoint.save(run, 2, found.tensors, found.numbers, config)
    with pytest.raises(UserError, match="unknown fit key 'bach'; did you mean 'batch'"):
        cli.dispatch([*RESUME, str(run)])


def test_presets():
    assert {"teacher", "tiny", "swap"} <= set(PRESETS)
    with pytest.raises(UserError, match="unknown preset 'techer'; did you mean 'teacher'"):
        get_preset("techer")
    with pytest.raises(UserError, match="'teacher' exists already"):
        register("teacher", ToyCfg())
    with pytest.raises(UserError, match="needs --preset NAME"):
        cli.dispatch(["train"])


def test_a_preset_with_a_camera_lists_its_options(capsys):
    for preset, there in (("swap", True), ("teacher", False)):
        with pytest.raises(SystemExit):
            cli.dispatch(["train", "--preset", preset, "--help"])
        shown = capsys.readouterr().out
        assert ("--env.camera.every" in shown) == ("--env.camera.optics.rows" in shown) == there


@pytest.mark.parametrize("words", [["--env.camera.every", "4"], ["--env.camera.optics.rows=32"]])
def test_options_of_a_camera_that_is_not_there_name_the_fix(words):
    says = r"^--env.camera.\S+: preset 'teacher' has no camera, .* use one .* --preset swap$"
    with pytest.raises(UserError, match=says):
        cli.dispatch(["train", "--preset", "teacher", *words])


def test_images_of_another_size_are_stated_once():
    rows = ["--env.camera.optics.rows", "32", "--env.camera.optics.cols", "32"]
    plan = parse(["--preset", "swap", *rows, "--env.camera.every", "4", "--device", "cpu"])
    spec = plan.cfg.env.spec
    assert (spec.camera.rows, spec.camera.cols, spec.camera.every) == (32, 32, 4)
    with pytest.raises(UserError, match="image size 30x64 does not halve"):
        parse(["--preset", "swap", "--env.camera.optics.rows", "30"])


def test_help_of_a_preset_lists_its_own_options(capsys):
    with pytest.raises(SystemExit):
        cli.dispatch(["train", "--preset", TOY, "--help"])
    shown = capsys.readouterr().out
    for option in (
        "--minutes",
        "--resume",
        "--seed",
        "--fit.betas",
        "--net.act",
        "--guard.fault-fraction",
    ):
        assert option in shown
