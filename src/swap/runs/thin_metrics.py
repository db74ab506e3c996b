"""Thins the metrics of a run to a few hundred lines, to keep and to share."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from swap.errors import UserError
from swap.files import atomic_write
from swap.runs.metrics import read_metrics

LINES, DIGITS = 200, 6


def thinned(rows: Sequence[Mapping[str, Any]], most: int = LINES) -> list[dict[str, Any]]:
    """Returns at most `most` of the rows, evenly spaced, with the first and the last, and
    rounded."""
    places = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int))
    return [{key: _rounded(x) for key, x in rows[k].items()} for k in places]


def write_thinned(run: Path, path: Path, most: int = LINES) -> None:
    """Writes the thinned metrics of a run folder into a file."""
    rows = read_metrics(run)
    if not rows:
        raise UserError(f"no metrics in '{run}'; name the folder of a run that has trained")
    lines = [json.dumps(row) + "\n" for row in thinned(rows, most)]
    with atomic_write(path) as file:
        file.write_text("".join(lines))


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
