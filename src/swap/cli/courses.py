"""`swap courses`: the obstacle families as a table, and with `--out` as a gallery of pictures."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from swap.cli.show import Report, show
from swap.courses.families import FAMILIES, get_family, make
from swap.errors import UserError
from swap.files import try_file
from swap.validate import check_numbers


@dataclass(frozen=True)
class Args:
    """List the obstacle families; with --out, render each at four difficulties, and mirrored."""

    out: Path | None = None
    """Write pictures and index.html into this folder."""
    family: tuple[str, ...] = ()
    """Only these families, yours as file.py:NAME."""
    seed: int = 0
    """Seed of the random variation: run-ups, landings, rocks."""
    size: str = "480x270"
    """Width x height of one picture, in pixels."""
    json: Path | None = None
    """Also write the table to this file."""

    def __post_init__(self) -> None:
        check_numbers(self, "--")


def run(args: Args) -> int:
    given = [FAMILIES.from_user(word).name for word in args.family]
    names = list(dict.fromkeys(given or FAMILIES))
    width, height = pixels(args.size)
    if args.seed < 0:
        raise UserError(f"seed {args.seed} is negative; use 0 or more")
    rows = [row(name, args.seed) for name in names]
    if args.out is not None:
        folder(args.out)
    note = "from, to: sizes at difficulty 0 and 1. at most: the largest that can be built."
    show(Report("Course families", rows, [note]), args.json)
    if args.out is not None:
        from swap.view.gallery import gallery

        for number, (family, shots) in enumerate(
            gallery(args.out, names, args.seed, width, height), 1
        ):
            print(f"{number}/{len(names)} {family.name}: {len(shots)} pictures", flush=True)
        print(f"open {args.out / 'index.html'}")
    return 0


def row(name: str, seed: int) -> dict[str, str | int | float]:
    family = get_family(name)
    boxes = [make(name, d, np.random.default_rng(seed)).n for d in (0.0, 1.0)]
    return {
        "family": name,
        "from": family.size.low,
        "to": family.size.high,
        "at most": family.max_size,
        "unit": family.size.unit,
        "boxes": max(boxes),
        "what it is": family.about,
        "origin": family.origin,
    }


def pixels(size: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)x(\d+)", size)
    if match is None:
        raise UserError(f"size '{size}' is not WIDTHxHEIGHT; use for example 480x270")
    width, height = int(match[1]), int(match[2])
    if not (16 <= width <= 4096 and 16 <= height <= 4096):
        raise UserError(f"size '{size}' is out of range; use 16 to 4096 pixels each way")
    return width, height


def folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        try_file(out / "index.html")
    except OSError as error:
        raise UserError(
            f"cannot write into '{out}' ({error.strerror}); name a folder that can be made"
        ) from None
