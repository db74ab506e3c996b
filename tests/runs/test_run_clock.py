"""The clock of a run: speed, time left, when it is over, and how many steps it will have."""

import pytest

from swap.runs.run_clock import RunClock


def test_pace_on_a_clock_of_its_own():
    clock = [100.0]
    run_clock = RunClock(
        2.0, 1000, spent_s=30.0, iteration=50, started_s=90.0, now=lambda: clock[0]
    )
    assert run_clock.elapsed_s == 40.0
    assert run_clock.fraction == pytest.approx(40 / 120)
    for i in range(51, 61):
        clock[0] += 30.0 if i == 51 else 0.5
        run_clock.tick(i, 100.0 * i)
    assert run_clock.iteration_s == pytest.approx(0.5)  # the compiling one left out
    assert run_clock.steps_per_s == pytest.approx(200.0)
    assert run_clock.left_s == pytest.approx(120 - 74.5)
    assert not run_clock.over
    run_clock.saved(22.5)  # 74.5 s gone, two saves need 45 s, one iteration 0.6 s
    assert run_clock.over


def test_the_steps_of_a_run_are_foretold_by_its_goals_and_its_speed():
    clock = [0.0]

    def run_clock(*goals, **more):
        return RunClock(*goals, started_s=0.0, now=lambda: clock[0], **more)

    assert run_clock(None, None).forecast() is None  # without end
    assert run_clock(None, None, 5e6).forecast() == 5e6
    by_iterations = run_clock(None, 40)
    assert by_iterations.forecast() is None  # how many steps has an iteration?
    by_iterations.tick(1, 100.0)
    assert by_iterations.forecast() == 4000.0
    assert run_clock(None, 40, iteration=10, done_steps=1000.0).forecast() == 4000.0

    timed = run_clock(10.0, None)
    told = []
    for k in range(1, 601):  # twice as fast after 200 s: the forecast follows
        clock[0] += 1.0
        timed.tick(k, 1000.0 * min(k, 200) + 2000.0 * max(0, k - 200))
        if (total := timed.forecast()) is not None:
            told.append((clock[0], total))
    assert [when for when, _ in told] == [60.0 * k for k in range(1, 11)]
    assert told[0][1] == pytest.approx(600e3)
    assert told[-1][1] == pytest.approx(1000e3)
    clock[0] = 0.0
    short = run_clock(0.4, None)
    for k in range(1, 8):
        clock[0] += 1.0
        short.tick(k, 10.0 * k)
        assert (short.forecast() is None) == (k != 6)
