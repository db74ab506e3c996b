"""Runs a script of this folder in its own Python process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_script(script: str, *words: str | Path) -> tuple[Any, str]:
    """The last line that it printed, read as JSON, and its stderr."""
    done = subprocess.run(
        # Python warns of forks in a process with threads; these threads are idle.
        [sys.executable, "-Wignore::DeprecationWarning", Path(__file__).with_name(script), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr
