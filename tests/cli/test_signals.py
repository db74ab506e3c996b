"""Signals and lost readers: no work is lost, and the exit code says what happened."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from scripts import run_script
from swap.cli import main as cli
from swap.runs import load, read_metrics
from toy_run import TOY

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
TRAIN_TOY = ("train", "--preset", TOY, "--device", "cpu", "--no-tensorboard")
TRIES = 24


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "swap", *map(str, words)]


def wait_for(run: Path, iterations: int = 3) -> None:
    for _ in range(1200):
        file = run / "metrics.jsonl"
        if file.exists() and file.read_bytes().count(b"\n") >= iterations:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get on")


def assert_saved(run: Path) -> None:
    """All finished iterations are saved, and the run can go on."""
    assert load(run).iteration == len(read_metrics(run)) >= 3
    assert cli.dispatch(["train", "--preset", TOY, "--resume", str(run), "--iterations", "1"]) == 0


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    return run_script("lost_reader.py", tmp_path_factory.mktemp("my runs"), str(TRIES))[0]


@pytest.mark.parametrize("sig", CODES)
def test_ctrl_c_saves_and_ends_with_the_way_to_go_on(sig, stopped):
    run, code, out, err = stopped["read"][str(int(sig))]
    assert code == CODES[sig]
    assert out.splitlines()[-1].endswith(f"go on with: swap train --resume '{run}' --preset {TOY}")
    assert err == "stopping after this iteration, then saving; once more to stop at once\n"
    assert_saved(Path(run))


def test_a_reader_that_dies_first_costs_nothing(stopped):
    """`swap train 2>&1 | tee log`: Ctrl-C ends tee too, and the run's last lines have no reader."""
    assert len(stopped["lost"]) == TRIES
    for sig, code, saved, done in stopped["lost"]:
        assert code == CODES[sig]
        assert saved == done >= 1


def test_ctrl_c_at_a_real_pipe_into_tee(tmp_path):
    run, log = tmp_path / "run", tmp_path / "log"
    line = (
        f'{" ".join(command(*TRAIN_TOY, "--out", run))} 2>&1 | tee {log}; echo "${{PIPESTATUS[0]}}"'
    )
    shell = subprocess.Popen(
        ["bash", "-c", f"trap : INT; {line}"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(run)
    os.killpg(shell.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group
    out, _ = shell.communicate(timeout=60)
    assert out.splitlines()[-1] == "130"
    assert_saved(run)


def test_a_terminal_that_is_closed_costs_nothing(tmp_path):
    """The live board writes to it four times a second; the kernel sends SIGHUP."""
    run = tmp_path / "run"
    ours, theirs = pty.openpty()
    take_terminal = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    take_terminal += "os.execv(sys.argv[1], sys.argv[1:])"
    child = subprocess.Popen(
        [sys.executable, "-c", take_terminal, *command(*TRAIN_TOY, "--out", run)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    wait_for(run)
    os.close(ours)
    assert child.wait(timeout=60) == 129
    assert_saved(run)


def test_under_nohup_a_closed_terminal_is_no_reason_to_stop(tmp_path):
    run = tmp_path / "run"
    child = subprocess.Popen(
        ["nohup", *command(*TRAIN_TOY, "--out", run)], stdout=subprocess.DEVNULL
    )
    wait_for(run)
    child.send_signal(signal.SIGHUP)
    wait_for(run, 30)
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 143
    assert_saved(run)


def test_timeout_sends_its_signal_twice_and_the_run_saves(tmp_path):
    """To its child and to its group; it does so for a signal of its own, and for one it gets."""
    run = tmp_path / "run"
    words = ["timeout", "--preserve-status", "600", *command(*TRAIN_TOY, "--out", run)]
    limit = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    wait_for(run)
    limit.send_signal(signal.SIGTERM)
    assert limit.wait(timeout=60) == 143
    assert_saved(run)


def signal_at(event: str, word: str, sig: int, *words: object) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).parent.parent / "signal_at.py"
    return subprocess.run(
        [sys.executable, script, event, word, str(int(sig)), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


TINY = ("train", "--preset", "tiny", "--device", "cpu", "--worlds", 8, "--iterations", 1)
EVAL = ("eval", "swap", "--family", "flat", "--points", 1, "--trials", 2, "--device", "cpu")
MOMENTS = [  # while it imports
    ("open", "cli/__pycache__/train", signal.SIGINT),
    ("import", "torch", signal.SIGTERM),
    ("import", "numpy.linalg", signal.SIGINT),
    ("import", "mujoco", signal.SIGHUP),
]
LATER = [  # once it has imported the command
    ("open", "apollo", signal.SIGINT),
    ("os.mkdir", "run", signal.SIGINT),
    ("open", "run.lock", signal.SIGTERM),
    ("open", ".saving-000000", signal.SIGINT),
    ("os.rename", ".saving-000000", signal.SIGHUP),
    ("import", "torch.utils.tensorboard", signal.SIGINT),
]
EVAL_MOMENTS = [
    ("open", "cli/__pycache__/eval", signal.SIGINT),
    ("import", "torch", signal.SIGINT),
    ("import", "mujoco", signal.SIGINT),
]
EVAL_LATER = [
    ("import", "swap.evaluate", signal.SIGTERM),
    ("open", "swap.safetensors", signal.SIGHUP),
]


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """What each later moment ended with: exit code, stderr, and what should not be left behind."""
    home = tmp_path_factory.mktemp("later")
    cases, left = [], []
    for words, option, moments in ((TINY, "--out", LATER), (EVAL, "--json", EVAL_LATER)):
        for event, word, sig in moments:
            left.append(home / str(len(cases)) / ("eval.json" if option == "--json" else "run"))
            left[-1].parent.mkdir()
            line = [*map(str, words), option, str(left[-1])]
            cases.append((event, word, int(sig), line))
    seen, _ = run_script("late.py", json.dumps(cases), home)
    return [(*end, path) for end, path in zip(seen, left, strict=True)]


def assert_stopped(sig, code, stderr, left):
    assert code == CODES[sig], stderr
    told = [line for line in stderr.splitlines() if not line.startswith("stopping after")]
    assert told == ["swap: stopped"]
    assert not left.exists()


@pytest.mark.parametrize(("event", "word", "sig"), MOMENTS)
def test_a_signal_before_the_first_iteration_is_one_line_and_blocks_nothing(
    event, word, sig, tmp_path
):
    run = tmp_path / "run"
    done = signal_at(event, word, sig, *TINY, "--out", run)
    assert_stopped(sig, done.returncode, done.stderr, run)


@pytest.mark.parametrize(("event", "word", "sig"), EVAL_MOMENTS)
def test_an_evaluation_that_is_stopped_is_one_line(event, word, sig, tmp_path):
    out = tmp_path / "eval.json"
    done = signal_at(event, word, sig, *EVAL, "--json", out)
    assert_stopped(sig, done.returncode, done.stderr, out)


@pytest.mark.parametrize("k", range(len(LATER) + len(EVAL_LATER)))
def test_so_it_is_with_a_signal_that_comes_later(k, later):
    (*_, sig), (code, stderr, left) = [*LATER, *EVAL_LATER][k], later[k]
    assert_stopped(sig, code, stderr, left)
    if k >= len(LATER):
        assert stderr == "swap: stopped\n"


@pytest.mark.parametrize(
    ("word", "sig"), [*zip(["swap.cli", "swap.errors", "difflib"], CODES, strict=True)]
)
def test_a_signal_before_anyone_listens_is_no_traceback(word, sig):
    """A shell makes 128 + signal of it."""
    done = signal_at("import", word, sig, "mirror")
    assert (done.returncode, done.stdout, done.stderr) == (-sig, "", "")


DEAF = """
import multiprocessing, time
from pathlib import Path
from swap.signals import start_without_ctrl_c
child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,), daemon=True)
start_without_ctrl_c(child.start)
for pid in ("self", child.pid):
    print(next(x for x in Path(f"/proc/{pid}/status").read_text().split("\\n") if "SigBlk" in x))
"""


def test_a_process_without_ctrl_c_leaves_it_to_the_one_that_started_it():
    """The kernel says which signals are blocked."""
    done = subprocess.run([sys.executable, "-c", DEAF], capture_output=True, text=True, check=True)
    ours, theirs = (int(line.split()[1], 16) for line in done.stdout.splitlines())
    assert (ours, theirs) == (0, 1 << (signal.SIGINT - 1))


def test_the_installed_command_starts_as_the_module_does():
    scripts = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert scripts["scripts"] == {"swap": "swap.__main__:main"}
