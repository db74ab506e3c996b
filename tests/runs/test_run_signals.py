"""A signal ends a run after its iteration, and a second one at once."""

import dataclasses
import signal
import threading

import pytest

from swap.runs import checkpoint, load
from swap.runs.interrupt import ECHO_S
from swap.signals import SIGNALS
from toy_preset import Toy
from toy_run import goal, toy_run


@pytest.mark.parametrize("sig", SIGNALS)
def test_a_signal_finishes_the_iteration_and_saves(tmp_path, monkeypatch, sig):
    before = signal.getsignal(sig)
    iterate = Toy.iterate

    def interrupted(self):
        if self.count == 6:
            signal.raise_signal(sig)
        return iterate(self)

    monkeypatch.setattr(Toy, "iterate", interrupted)
    outcome = toy_run(tmp_path, goal(1000))
    assert outcome.interrupted
    assert outcome.signal == sig
    assert outcome.fault is None
    assert outcome.iteration == load(tmp_path).iteration == 7
    assert signal.getsignal(sig) == before


@pytest.mark.parametrize("sig", SIGNALS)
def test_a_second_signal_ends_at_once_but_an_echo_of_the_first_does_not(tmp_path, monkeypatch, sig):
    now, reached = [0.0], []
    monkeypatch.setattr("swap.runs.interrupt.time.monotonic", lambda: now[0])

    def interrupted(self):
        signal.raise_signal(sig)
        now[0] += 0.9 * ECHO_S
        signal.raise_signal(sig)
        reached.append(sig)
        now[0] += 0.2 * ECHO_S
        signal.raise_signal(sig)
        raise AssertionError("still here")

    def at_once(number, frame):
        raise KeyboardInterrupt

    monkeypatch.setattr(Toy, "iterate", interrupted)
    before = signal.signal(sig, at_once)
    try:
        with pytest.raises(KeyboardInterrupt):
            toy_run(tmp_path, goal(1000))
    finally:
        signal.signal(sig, before)
    assert reached == [sig]
    assert load(tmp_path).iteration == 0


@pytest.mark.parametrize("there", [False, True])
def test_a_run_stopped_before_its_first_iteration_leaves_nothing(tmp_path, monkeypatch, there):
    folder, save = tmp_path / "run", checkpoint.save
    if there:
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")

    def interrupted(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        return save(*args, **kwargs)

    monkeypatch.setattr(checkpoint, "save", interrupted)
    outcome = toy_run(folder, dataclasses.replace(goal(5), tensorboard=True))
    assert (outcome.iteration, outcome.saved, outcome.signal) == (0, None, signal.SIGINT)
    left = sorted(path.name for path in folder.iterdir()) if folder.exists() else None
    assert left == (["notes.txt", "run.lock"] if there else None)
    monkeypatch.setattr(checkpoint, "save", save)
    assert toy_run(folder, goal(2)).iteration == 2


def test_a_run_outside_the_main_thread_needs_no_signals(tmp_path):
    thread = threading.Thread(target=toy_run, args=(tmp_path, goal(2)))
    thread.start()
    thread.join()
    assert load(tmp_path).iteration == 2
