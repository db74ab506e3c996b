"""`swap bench deploy`: how long a bundle's parts take on one core."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from swap.cli.show import Report, show
from swap.validate import check_numbers


@dataclass(frozen=True)
class Args:
    """Time policy, world-model tick and the controller's own work, on one core of this machine.

    Exit code 1 if a 99th percentile is above its limit.
    """

    bundle: tyro.conf.Positional[Path]
    """A folder that swap export wrote."""
    steps: int = 5000
    """Control steps."""
    core: int | None = None
    """Which core; by default the first that may be used."""
    clock: Literal["wall", "cpu"] = "wall"
    """cpu leaves out what other programs on the same core take: for a machine that is shared."""
    json: Path | None = None
    """Also write the figures to this file."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("steps",))


def run(args: Args) -> int:
    from swap.deploy.bench import bench
    from swap.deploy.bundle import read_bundle

    clock = time.perf_counter if args.clock == "wall" else time.thread_time
    rows = list(bench(read_bundle(args.bundle), args.steps, args.core, clock))
    notes = ["own work: messages, observations, image, gate; p99 below the limit is fine."]
    show(Report(f"{args.bundle} on one core, {args.clock} time", rows, notes), args.json)
    return 0 if all(row["fine"] for row in rows) else 1
