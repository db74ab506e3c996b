"""MPS is started once, stopped by the study that started it, and not needed where it is missing."""

import os

import pytest

from swap.study import mps as of

SCRIPT = """#!/bin/sh
echo "$1:$(test "$1" = -d || cat)" >> {log}
test "$1" = -d && {{ test -e {down} && exit 1; touch {up}; exit 0; }}
test -e {up}
"""


@pytest.fixture
def control(tmp_path, monkeypatch):
    """A program of the same name that logs its input."""
    monkeypatch.setattr(of.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv(of.PIPE, raising=False)
    files = {name: tmp_path / name for name in ("log", "up", "down")}
    program = tmp_path / of.CONTROL
    program.write_text(SCRIPT.format(**files))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return files


def told(control):
    return control["log"].read_text().split() if control["log"].exists() else []


def test_it_is_started_for_the_runs_and_stopped_after_them(control, tmp_path):
    with of.mps(True, print) as env:
        assert env[of.PIPE] == env[of.LOG] == str(tmp_path / f"swap-mps-{os.getuid()}")
        assert os.path.isdir(env[of.PIPE])
        assert told(control) == [":get_server_list", "-d:"]
    assert told(control)[-1] == ":quit"


def test_it_is_stopped_after_a_fault_too(control):
    with pytest.raises(KeyError), of.mps(True, print):
        raise KeyError
    assert told(control)[-1] == ":quit"


def test_one_that_runs_already_is_shared_and_left_alone(control):
    control["up"].touch()
    with of.mps(True, print) as env:
        assert of.PIPE in env
    assert told(control) == [":get_server_list"]


def test_the_users_own_is_used(control, monkeypatch):
    monkeypatch.setenv(of.PIPE, "/theirs")
    with of.mps(True, print) as env:
        assert env == {}
    assert told(control) == []


def test_without_it_a_line_says_so(control, monkeypatch):
    said = []
    control["down"].touch()  # it does not start
    with of.mps(True, said.append) as env:
        assert env == {}
    monkeypatch.setenv("PATH", "/nowhere")
    with of.mps(True, said.append) as env:
        assert env == {}
    assert [line.split(":")[1] for line in said] == [" runs on one GPU take turns"] * 2


def test_for_one_run_or_none_there_is_none(control):
    with of.mps(False, print) as env:
        assert env == {}
    assert told(control) == []
