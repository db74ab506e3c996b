"""kill -9 at random moments, fifty times, while saving all the time: a toy and the real thing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 50
NURSERY = Path(__file__).parent.parent / "nursery.py"


@pytest.mark.parametrize("kind", ["toy", "parkour"])
def test_the_latest_checkpoint_always_loads_and_the_run_ends_as_if_never_killed(kind, tmp_path):
    words = [NURSERY, kind, tmp_path / "run", str(KILLS)]
    done = subprocess.run(
        # Python warns of forks beside threads; numpy's own are asleep.
        [sys.executable, "-Wignore::DeprecationWarning", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["said"] == []  # nothing was refused, nothing was passed over
    assert len(seen["reached"]) > KILLS // 2
    assert seen["reached"] == sorted(seen["reached"])
    assert seen["half saved"] > KILLS // 10  # the kills did come in the middle of a save
    assert seen["equal"]
    assert seen["metrics equal"]
    assert seen["iterations"] == list(range(1, seen["end"] + 1))
