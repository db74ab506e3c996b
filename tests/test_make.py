"""Tests what `make` would do."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("words", [(), ("RUN=out/train/mine",)])
def test_train_has_a_folder_of_its_own_every_time(words):
    """Training, table and film use the same folder; a second call does not find the first run."""
    told = subprocess.run(
        ["make", "-n", "train", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    named = {
        *re.findall(r"swap train .*--out (\S+)", told),
        *re.findall(r"swap eval (\S+)", told),
        *re.findall(r"swap play (\S+)", told),
    }
    (folder,) = named
    if words:
        assert f"RUN={folder}" in words
    else:
        assert re.fullmatch(r"out/train/\d{8}-\d{6}", folder)


def test_processes_keep_what_they_compile():
    """pip has not compiled it, and some containers tell Python to keep nothing."""
    told = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f", "-", "kept"],
        cwd=ROOT,
        input='kept:\n\t@echo "<$$PYTHONDONTWRITEBYTECODE>"\n',
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told == "<>\n"
