"""`make soak`: kills, byte flips, random options, random clicks on the page of `swap view`, and a
training whose memory is watched.

Prints what was tried and what went wrong; exit code 1 if anything did.
"""

import argparse
import dataclasses
import json
import signal
import sys
import tempfile
from pathlib import Path
from random import Random

import torch
from rich.console import Console
from rich.table import Table

from soak.clicks import clicks
from soak.flips import flips
from soak.growth import growth
from soak.kills import kills
from soak.options import options
from soak.tally import Tally

COLUMNS = ("tried", "lost", "silent", "tracebacks", "late")


def soak(
    home: Path,
    chance: Random,
    kill: int,
    flip: int,
    option: int,
    minutes: float,
    click_minutes: float,
) -> list[Tally]:
    torch.set_num_threads(1)  # forks must find no threads to miss
    tallies = kills(kill, home / "kills", chance) if kill else []
    tallies += options(option, home / "options", chance) if option else []
    tallies += flips(flip, home / "flips", chance) if flip else []
    tallies += growth(minutes, home / "growth")
    return tallies + clicks(click_minutes, home / "clicks", chance)


def main() -> int:
    words = argparse.ArgumentParser(prog="make soak", description=__doc__)
    for name, usual in (("kills", 200), ("flips", 1000), ("options", 500), ("seed", 0)):
        words.add_argument(f"--{name}", type=int, default=usual)
    words.add_argument("--minutes", type=float, default=30.0)
    words.add_argument("--clicks", type=float, default=0.0, help="minutes; needs a browser")
    words.add_argument("--json", type=Path, help="also write the table to this file")
    args = words.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="soak-") as home:
        chance = Random(args.seed)
        counts = args.kills, args.flips, args.options
        tallies = soak(Path(home), chance, *counts, args.minutes, args.clicks)
    table = Table("what", *COLUMNS, title=f"soak, seed {args.seed}", title_justify="left")
    for tally in tallies:
        table.add_row(tally.what, *(f"{getattr(tally, column):,}" for column in COLUMNS))
    Console(width=120).print(table)
    if args.json is not None:
        args.json.write_text(json.dumps([dataclasses.asdict(tally) for tally in tallies], indent=1))
    return 0 if all(tally.clean for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
