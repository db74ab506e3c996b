"""The board on wide and narrow terminals, and the lines of a log."""

import io

import pytest
from rich.console import Console

from swap.runs.console import LiveBoard, PlainBoard, board, clock, plain_line, short
from swap.runs.run_clock import RunClock

METRICS = {
    "steps": 12_345_678.0,
    "success/box": 0.93,
    "success/gap": 1.0,
    "frontier/box": 1.414,
    "frontier/stairs_with_a_long_name": 0.2,
    **{f"reward/{name}": 0.1 for name in ("lin_vel", "ang_vel", "torque", "stumble_of_the_feet")},
    "reward/alive": -1.5,
    "ppo/kl": 0.0123,
    "guard/nan_state": 2.0,
}


def run_clock() -> RunClock:
    clock = iter([0.0, 60.0, 61.0])
    times = [0.0]
    made = RunClock(10.0, 1000, now=lambda: times[0])
    for i, at in enumerate(clock, 1):
        times[0] = at
        made.tick(i, 1000.0 * i)
    return made


def drawn(width: int, show: bool = True) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, height=60, force_terminal=True, color_system=None)
    live = LiveBoard("teacher-20260101", console)
    if show:
        live.show(run_clock(), METRICS, {"nan_state": 5})
    live.stopping()
    console.print(live.render())
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [32, 40, 60, 80, 200])
def test_the_board_fits_and_tells_all(width):
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "93%" in text
    assert "1.41" in text
    assert "nan_state 5" in text
    if width >= 60:
        assert "iteration 3 of 1,000 | 1:01 | 12.3 M steps" in text
        assert "10% 8:59 left" in text
        for name in ("box", "gap", "stairs_with_a_long_name", "stumble_of_the_feet", "kl"):
            assert name in text
        assert "stopping after this iteration" in text


def test_before_the_first_iteration_it_says_why_nothing_moves():
    assert "compiling" in " ".join(drawn(60, show=False))


def test_rows_keep_their_place_when_a_metric_is_silent():
    console = Console(file=io.StringIO(), width=60, height=60, force_terminal=True)
    live = LiveBoard("x", console)
    live.show(run_clock(), METRICS, {})
    with console.capture() as first:
        console.print(live.render())
    live.show(run_clock(), {"steps": 12_345_678.0, "ppo/kl": 0.0123}, {})
    with console.capture() as second:
        console.print(live.render())
    assert first.get() == second.get()


def test_a_log_gets_a_short_line_and_not_too_many(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("swap.runs.console.time.monotonic", lambda: now[0])
    plain = PlainBoard()
    for second in range(25):
        now[0] = float(second)
        plain.show(run_clock(), METRICS, {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0] == (
        "iteration 3 | 1:01 | 12.3 M steps | 33 steps/s | success box 93% gap 100% | "
        "frontier box 1.41 stairs_with_a_long_name 0.20 | 8:59 left"
    )
    assert plain_line(run_clock(), {}, {"nan_state": 5}).endswith(
        "| guards nan_state 5 | 8:59 left"
    )


def test_what_is_no_terminal_gets_plain_lines():
    assert isinstance(board("x"), PlainBoard)


def test_figures_for_people():
    assert [clock(s) for s in (0, 75.9, 3675)] == ["0:00", "1:15", "1:01:15"]
    assert [short(n) for n in (0, 999, 1000, 123_456, 5e6, 2.5e9)] == [
        "0", "999", "1 k", "123 k", "5 M", "2.5 G",
    ]  # fmt: skip
