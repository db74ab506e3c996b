"""Describes in one line how far the running commands are."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swap.study.plan import CommandLine, Folder
from swap.study.study import Run, Study


def steps_done(folder: Folder, run: Run) -> float:
    """Control steps that a running run has made so far."""
    return float(_newest(folder.run(run) / "metrics.jsonl").get("steps", 0.0))


def status_line(study: Study, folder: Folder, running: Sequence[CommandLine]) -> str:
    done = sum(folder.metrics(run).is_file() for run in study.runs)
    parts = [f"{done} of {len(study.runs)} runs done"]
    for command in running:
        steps = steps_done(folder, command.run) if command.what == "train" else 0.0
        parts.append(f"{command.label} {steps / study.steps:.0%}" if steps else command.label)
    return " | ".join(parts)


def _newest(file: Path) -> dict[str, Any]:
    """The last complete line of the metrics, without reading the whole file."""
    try:
        with open(file, "rb") as stream:
            stream.seek(max(0, file.stat().st_size - 65536))
            lines = stream.read().split(b"\n")[:-1]
        row = json.loads(lines[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return row if isinstance(row, dict) else {}
