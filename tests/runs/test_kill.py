"""Kills a toy run fifty times and a real run twenty times with kill -9, before a file operation,
while they save all the time. The operations are drawn from a seed, so that a run dies at the same
moments on every machine."""

import pytest

from scripts import run_script


@pytest.mark.parametrize(("kind", "kills"), [("toy", 50), ("parkour", 20)])
def test_the_latest_checkpoint_always_loads_and_the_run_ends_as_if_never_killed(
    kind, kills, tmp_path
):
    seen, complaints = run_script("kill_runs.py", kind, tmp_path / "run", str(kills))
    assert complaints == ""
    assert seen["said"] == []  # nothing was refused or skipped
    assert len(seen["reached"]) > kills // 2
    assert seen["reached"] == sorted(seen["reached"])
    assert seen["half saved"] > kills // 4  # the kills did come in the middle of a save
    assert seen["equal"]
    assert seen["metrics equal"]
    assert seen["iterations"] == list(range(1, seen["end"] + 1))
    assert not seen["compiler"]  # a third of a run's start, for nothing
