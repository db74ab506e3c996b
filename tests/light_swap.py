"""Runs `swap` with a `robots` that prints a small table and does not load torch: for tests of
streams, which do not care what is printed."""

import sys
from dataclasses import dataclass
from pathlib import Path

import swap.__main__
from swap.cli.show import Report, show


@dataclass(frozen=True)
class Args:
    """Print a table."""

    json: Path | None = None


def run(args: Args) -> int:
    show(Report("Robots", [{"robot": "go2", "kg": 15.2}], ["a note"]), args.json)
    return 0


if __name__ == "__main__":
    sys.modules["swap.cli.robots"] = sys.modules[__name__]
    swap.__main__.main()
