"""A card names the state of the source that wrote it, if there is one, without waiting for git."""

import os
import subprocess
import time

import pytest

from swap.runs import provenance as origin
from swap.runs.provenance import source_state


def git(root, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(root), *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def source(tmp_path):
    root = tmp_path / "source"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a = 1\n")
    git(root.parent, "init", "-q", "source")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_the_commit_and_whether_the_source_differs_from_it(source):
    commit = git(source, "rev-parse", "HEAD")
    (source / "notes.txt").write_text("not of the source")
    assert source_state(source) == {"commit": commit, "dirty": False}
    (source / "src" / "a.py").write_text("a = 2\n")
    source_state.cache_clear()
    assert source_state(source) == {"commit": commit, "dirty": True}


def test_another_repository_around_it_is_not_meant(source):
    (source / "venv").mkdir()
    assert source_state(source / "venv") is None


def test_without_git_or_with_one_that_hangs_it_is_not_known(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert source_state(source) is None
    source_state.cache_clear()
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "git"
    fake.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    os.chmod(fake, 0o755)
    monkeypatch.setattr(origin, "PATIENCE_S", 0.3)
    began = time.monotonic()
    assert source_state(source) is None
    assert time.monotonic() - began < 10
