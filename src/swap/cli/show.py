"""Prints a report and, with `--json FILE`, writes the same figures to a file."""

import importlib.util
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import swap
from swap.errors import UserError
from swap.files import atomic_write, replaceable, try_file

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """Rows of named figures under a title; `notes` say what they mean."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    facts: Row = field(default_factory=dict)
    """How it was measured; only in the file."""


def writable(path: Path | None) -> None:
    """Refuses a file that cannot be written before the work starts, not after it."""
    if path is None:
        return
    try:
        try_file(path)
    except OSError as error:
        why = error.strerror or "no file can be made there"
        raise UserError(
            f"cannot write '{path}' ({why}); name a file in a folder that can be written"
        ) from None


def check_json(path: Path | None) -> None:
    """Refuses a file that is no report, such as the card of a model, before the work starts."""
    if path is None:
        return
    if replaceable(path) and path.suffix != ".json":
        raise UserError(f"--json {path} is a report; let it end in .json")
    writable(path)
    if replaceable(path) and path.exists() and not may_be_replaced(path):
        raise UserError(f"--json {path} holds something else than a report; name another file")


def may_be_replaced(path: Path) -> bool:
    """Whether a file is empty or an earlier report."""
    try:
        text = path.read_bytes()
        if not text:
            return True
        found = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"title", "rows", "machine"} <= found.keys()


def check_recording(path: Path | None) -> None:
    """A recording is a page, and needs what makes them."""
    if path is None:
        return
    if path.suffix != ".html":
        raise UserError(f"--record {path} is a page; let it end in .html")
    writable(path)
    needs_viser()


def needs_viser() -> None:
    """One line for whoever has not installed it."""
    if importlib.util.find_spec("viser") is None:
        raise UserError(
            "viser is not installed; install it: pip install -c constraints.txt '.[view]'"
        )


def show(report: Report, json_file: Path | None = None) -> None:
    # Piped output has no width, and a table cut to 80 columns would lose figures.
    width = None if Console().is_terminal else 160
    console = Console(width=width, markup=False)  # brackets, as in '.[view]', are text
    table = Table(title=report.title, title_justify="left", title_style="bold")
    columns = list(dict.fromkeys(key for row in report.rows for key in row))
    for column in columns:
        numeric = all(isinstance(row.get(column), int | float | None) for row in report.rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in report.rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    console.print(table)
    for note in report.notes:
        console.print(note, highlight=False)
    save(report, json_file)


def save(report: Report, json_file: Path | None) -> None:
    """Writes only the file, if there is one: for figures that the screen shows with fewer
    digits."""
    if json_file is not None:
        text = json.dumps(as_json(report), indent=2, ensure_ascii=False) + "\n"
        with atomic_write(json_file) as file:
            file.write_bytes(text.encode("utf-8", "backslashreplace"))


def as_json(report: Report) -> dict[str, Any]:
    import torch

    machine = {
        "swap": swap.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
    return {
        "title": report.title,
        "rows": [dict(row) for row in report.rows],
        "notes": list(report.notes),
        **({"facts": dict(report.facts)} if report.facts else {}),
        "machine": machine,
    }


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)
