"""`python -m swap.deploy` and `swap bench deploy`, as a user runs them."""

import contextlib
import signal
import subprocess
import sys
import threading
import time

import pytest

from still_robot import Still
from swap.cli.main import dispatch
from swap.deploy.__main__ import main
from swap.deploy.bench import LIMITS_MS, bench
from swap.deploy.depth import training_lens
from swap.deploy.joints import plain_motors
from swap.deploy.messages import Operator
from swap.deploy.transport import SharedMemory


def test_check(bundle, capsys):
    assert main(["check", str(bundle.path)]) == 0
    assert "fine" in capsys.readouterr().out


def test_a_bundle_that_is_none_is_one_line(tmp_path, capsys):
    assert main(["check", str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@contextlib.contextmanager
def robot_that_stands(bundle, path):
    """Its end of a link, in a thread that lists the commands which come."""
    link = SharedMemory.make(path, plain_motors(bundle.spec), training_lens(bundle.spec.camera))
    still, sent, ends = Still(bundle), [], threading.Event()

    def live():
        while not ends.is_set():
            still.now_s = time.monotonic()
            link.put_state(still.state(), still.now_s)
            link.put_depth(still.image(), still.now_s)
            link.put_operator(Operator("stand"), still.now_s)
            if (command := link.get_command()) is not None:
                sent.append(command)
            time.sleep(0.005)

    robot = threading.Thread(target=live)
    robot.start()
    try:
        yield sent
    finally:
        time.sleep(0.05)
        ends.set()
        robot.join()
        link.close()


@pytest.mark.parametrize("armed", [False, True])
def test_a_robot_is_run_and_its_log_plays_again(bundle, tmp_path, capsys, armed):
    """Dry, not one command leaves; armed they do. Both end damped."""
    path, log = tmp_path / "robot", tmp_path / "run.log"
    words = ["run", str(bundle.path), "--shm", str(path), "--log", str(log), "--seconds", "2"]
    with robot_that_stands(bundle, path) as sent:
        assert main([*words, *(["--armed"] if armed else [])]) == 0
    said = capsys.readouterr().out
    assert ("armed" if armed else "dry run") in said
    assert "stand up" in said
    assert bool(sent) == armed
    assert main(["replay", str(bundle.path), str(log)]) == 0
    if armed:
        assert not sent[-1].kp.any()


def stiff(sent):
    return bool(sent) and sent[-1].kp.any()


def was_stiff(sent):
    """Perhaps it is damped again: on a busy machine states come late, and a watchdog damps it."""
    return any(command.kp.any() for command in [*sent])


def test_a_full_disk_ends_the_log_and_nothing_else(bundle, tmp_path, capsys):
    path = tmp_path / "robot"
    words = ["run", str(bundle.path), "--shm", str(path), "--log", "/dev/full", "--armed"]
    with robot_that_stands(bundle, path) as sent:
        assert main([*words, "--seconds", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "the log is cut off: No space left on device" in said
    assert said[-1] == "damped"
    assert was_stiff(sent)
    assert not stiff(sent)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "reader"])
def test_however_it_ends_the_robot_is_damped(bundle, tmp_path, how):
    path = tmp_path / "robot"
    words = [sys.executable, "-m", "swap.deploy", "run", str(bundle.path), "--shm", str(path)]
    with (
        robot_that_stands(bundle, path) as sent,
        subprocess.Popen([*words, "--armed"], stdout=subprocess.PIPE) as program,
    ):
        until = time.monotonic() + 60
        while not was_stiff(sent) and time.monotonic() < until:
            time.sleep(0.01)
        assert was_stiff(sent)
        if how == "reader":  # goes away first
            program.stdout.close()
            how = signal.SIGTERM
        program.send_signal(how)
        assert program.wait(60) == 0
    assert not stiff(sent)


def test_no_log_is_lost_and_one_that_cannot_be_written_is_one_line(bundle, tmp_path, capsys):
    spec = bundle.spec
    link = SharedMemory.make(tmp_path / "robot", plain_motors(spec), training_lens(spec.camera))
    words = ["run", str(bundle.path), "--shm", str(link.path), "--seconds", "0.01", "--log"]
    first = tmp_path / "first.log"
    assert main([*words, str(first)]) == 0
    kept = first.read_bytes()
    capsys.readouterr()
    for path in (first, tmp_path, tmp_path / "nothing" / "x.log"):
        assert main([*words, str(path)]) == 2
        told = capsys.readouterr().err
        assert f"log '{path}'" in told
        assert told.endswith("; name another file\n")
    assert first.read_bytes() == kept
    link.close()


def test_libraries_that_are_missing_are_named_as_they_are_installed(bundle, monkeypatch, capsys):
    """On a robot there are these files and pip, and nothing of ours to install."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert main(["check", str(bundle.path)]) == 2
    assert capsys.readouterr().err.endswith("install it: pip install onnxruntime\n")
    monkeypatch.setitem(sys.modules, "cyclonedds", None)
    monkeypatch.setitem(sys.modules, "cyclonedds.domain", None)
    monkeypatch.delitem(sys.modules, "swap.deploy.dds", raising=False)
    assert main(["run", str(bundle.path), "--dds", "0"]) == 2
    assert capsys.readouterr().err.endswith("install it: pip install cyclonedds\n")


def test_the_bench_tells_all_parts(bundle, capsys):
    rows = list(bench(bundle, 60))
    assert [row["part"] for row in rows] == list(LIMITS_MS)
    runs = {row["part"]: row["runs"] for row in rows}
    assert runs["policy"] == runs["controller's own work"] == 60
    assert runs["world-model tick"] == 60 // bundle.spec.ticks_every
    assert dispatch(["bench", "deploy", str(bundle.path), "--steps", "20"]) in (0, 1)
