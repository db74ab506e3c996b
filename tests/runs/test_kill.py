"""Kills a toy run and a real run fifty times with kill -9, before a file operation, while they save
all the time. The operations are drawn from a seed, so that a run dies at the same moments on every
machine."""

import pytest

from scripts import run_script

KILLS = 50


@pytest.mark.parametrize("kind", ["toy", "parkour"])
def test_the_latest_checkpoint_always_loads_and_the_run_ends_as_if_never_killed(kind, tmp_path):
    seen, complaints = run_script("kill_runs.py", kind, tmp_path / "run", str(KILLS))
    assert complaints == ""
    assert seen["said"] == []  # nothing was refused or skipped
    assert len(seen["reached"]) > KILLS // 2
    assert seen["reached"] == sorted(seen["reached"])
    assert seen["half saved"] > KILLS // 4  # the kills did come in the middle of a save
    assert seen["equal"]
    assert seen["metrics equal"]
    assert seen["iterations"] == list(range(1, seen["end"] + 1))
