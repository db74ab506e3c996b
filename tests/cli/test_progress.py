"""The progress line of a measurement."""

import io

import pytest
from rich.console import Console

from swap.cli import progress as of
from swap.evaluate.success import Progress


def test_the_line_says_how_many_how_long_and_how_much_is_left():
    told = of.line(Progress(640, 2000, 0.25), 75.0)
    assert told == "640 of 2,000 trials | 1:15 | 25% | 3:45 left"
    assert of.line(Progress(0, 2000, 0.0), 5.0) == "0 of 2,000 trials | 0:05 | 0%"
    assert of.line(Progress(2000, 2000, 1.0), 5.0).endswith("| 100% | 0:00 left")


@pytest.fixture
def now(monkeypatch):
    times = [0.0]
    monkeypatch.setattr(of.time, "monotonic", lambda: times[0])
    return times


def test_a_pipe_gets_a_line_every_ten_seconds(now):
    file = io.StringIO()
    with of.ProgressLine(Console(file=file, width=20)) as told:
        for second in range(35):
            now[0] = float(second)
            told(Progress(10 * second, 1000, second / 100))
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1] == "200 of 1,000 trials | 0:20 | 20% | 1:20 left"


def test_a_terminal_gets_a_live_line_that_goes_away(now):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    with of.ProgressLine(console) as told:
        assert "building" in str(told.render())
        now[0] = 3.0
        told(Progress(5, 10, 0.5))
        told.live.refresh()
        assert str(told.render()) == "5 of 10 trials | 0:03 | 50% | 0:03 left"
    text = file.getvalue()
    assert "5 of 10 trials" in text
    assert text.rstrip("\r").endswith("\x1b[2K")  # the line is erased


def test_it_speaks_on_stderr():
    assert of.ProgressLine().console.stderr
