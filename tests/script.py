"""A script beside the tests, run in a Python of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def told_by(script: str, *words: str | Path) -> tuple[Any, str]:
    """What it printed last, read as JSON, and all it said on stderr."""
    done = subprocess.run(
        # Python warns of forks beside threads; there is nothing for them to do.
        [sys.executable, "-Wignore::DeprecationWarning", Path(__file__).with_name(script), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr
