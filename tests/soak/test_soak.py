"""A short soak, without the training, whose memory takes a minute to settle; and proof that a soak
finds what is there to find."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from soak.flips import flip
from soak.growth import SLACK, levels
from soak.tally import Tally

TESTS = Path(__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
JUDGE = """
import json, sys
from pathlib import Path
from soak.options import judge
from soak.tally import Tally
tally = Tally("x")
print(json.dumps([judge(sys.argv[2:], Path(sys.argv[1]), tally), tally.notes]))
"""
"""What the soak says of one command."""


def test_a_short_soak_finds_nothing(tmp_path):
    file = tmp_path / "soak.json"
    sizes = {"--kills": 70, "--flips": 80, "--options": 8, "--minutes": 0, "--seed": 3}
    words = [str(word) for pair in sizes.items() for word in pair]
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-m", "soak", *words, "--json", file],
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert file.is_file(), done.stderr
    told = [Tally(**row) for row in json.loads(file.read_text())]
    assert [tally.tried for tally in told] == [35, 35, 8, 20, 20, 20, 20]
    assert [tally.notes for tally in told if not tally.clean] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--port", "0", "--seed", "7"], 130), (["--json", "\udcff"], 2), (["--seed", "1" * 12], 2)],
)
def test_a_page_is_served_until_it_is_stopped_and_that_is_not_late(words, code, tmp_path):
    line = [tmp_path / "said", "view", "teacher", *words]
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", JUDGE, *line],
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [code, []]


@pytest.mark.parametrize("checked", [True, False])
def test_a_reader_that_believes_everything_is_found_out(checked, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"what was written")

    def read(said: list[str]) -> bytes:
        if checked and file.read_bytes() != b"what was written":
            said.append("changed")
        return file.read_bytes()

    tally = flip("x", [file], read, 10, Random(0))
    assert (tally.tried, tally.silent) == (10, 0 if checked else 10)


def test_a_reader_that_breaks_is_found_out(tmp_path):
    file = tmp_path / "file"
    file.write_text("1")
    tally = flip("x", [file], lambda said: int(file.read_bytes().decode()) * 0, 40, Random(0))
    assert tally.tracebacks > 20


def test_memory_that_grows_is_found_out():
    settled = [(s, min(10.0 * s, 500.0)) for s in range(0, 600, 5)]
    first, later = levels(settled)
    assert later <= SLACK * first
    first, later = levels([(s, mib + 0.1 * s) for s, mib in settled])
    assert later > SLACK * first
