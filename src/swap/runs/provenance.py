"""Records the origin of a file: the version of swap, the state of its source, the time."""

import os
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import swap

ROOT = Path(swap.__file__).parents[2]
"""Root of the source tree, if swap runs from one."""
PATIENCE_S = 3.0
"""How long git may take for an answer."""


def origin() -> dict[str, Any]:
    return {
        "swap": swap.__version__,
        "git": source_state(ROOT),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def source_state(root: Path) -> dict[str, Any] | None:
    """The commit, and whether src/ differs from it; None without git or a source tree."""
    if not (root / ".git").exists():  # not a repository that only contains this installation
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD").strip()
        return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain", "--", "src"))}
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _git(root: Path, *words: str) -> str:
    """Runs git read-only, without locks and without prompts."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(
        ["git", "-C", str(root), *words],
        env=env | {"GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout
