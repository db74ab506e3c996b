"""Reads and writes courses as small TOML files with one table per piece.

name = "three in a row"

[[pieces]]
kind = "box"
height_m = 0.5

A mistake in a file is reported in one line that names the file.
"""

import os
import re
import sysconfig
import tomllib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from swap.courses.course_plan import CoursePlan
from swap.courses.families import FAMILIES
from swap.courses.pieces import KINDS, Piece
from swap.errors import UserError, printable, unknown
from swap.files import replace_file

MOST_BYTES = 1 << 16
ENDING = ".toml"


def course_folders() -> tuple[Path, ...]:
    """The folders searched by name: ./courses, the source tree's, and an installed wheel's."""
    installed = Path(sysconfig.get_path("data")) / "share" / "swap" / "courses"
    return Path("courses"), Path(__file__).parents[3] / "courses", installed


def known_courses() -> dict[str, Path]:
    """Course files by name, without the ending; earlier folders come first."""
    found = {
        file.stem: file
        for folder in reversed(course_folders())
        for file in sorted(folder.glob(f"*{ENDING}"))
    }
    return dict(sorted(found.items()))


def load_course(path: Path) -> CoursePlan:
    """Read the course in a file; a bare name is looked up in `known_courses`."""
    if len(path.parts) == 1 and not path.exists():
        path = known_courses().get(path.name.removesuffix(ENDING), path)
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        return parse_course(text.decode(), path.stem)
    except OSError as error:
        known = ", ".join(known_courses()) or "none"
        raise UserError(
            f"cannot read the course '{path}' ({error.strerror}); name a file, or a known one: "
            f"{known}"
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"'{path}' is no text; see docs/courses.md") from None
    except UserError as error:
        raise UserError(f"'{path}': {error}; see docs/courses.md") from None


def parse_course(text: str, name: str) -> CoursePlan:
    """Read a course from the text of a file."""
    if len(text) > MOST_BYTES:
        raise UserError(f"more than {MOST_BYTES} characters are no course")
    try:
        return plan_of(tomllib.loads(text), name)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"no TOML: {printable(error, 200)}") from None


def plan_of(data: dict[str, Any], name: str) -> CoursePlan:
    """Make a course from a file's data; `name` is used if the file gives none."""
    known = [field.name for field in fields(CoursePlan)]
    for key in data:
        if key not in known:
            raise unknown("key", key, known)
    pieces = data.get("pieces", [])
    if not isinstance(pieces, list) or not all(isinstance(x, dict) for x in pieces):
        raise UserError("pieces are tables; write [[pieces]] before each")
    own = data.get("name", name)
    if not isinstance(own, str) or not own.strip() or len(own) > 60 or not own.isprintable():
        raise UserError("name is a short line of text")
    if own in FAMILIES:
        raise UserError(f"name '{own}' is that of a family of obstacles; choose another")
    sizes = {key: number(key, x) for key, x in data.items() if key not in ("name", "pieces")}
    return CoursePlan(name=own, pieces=tuple(map(piece_of, pieces)), **sizes)


def piece_of(data: dict[str, Any]) -> Piece:
    kind = data.get("kind")
    if kind not in KINDS:
        raise unknown("kind of piece", str(kind), KINDS)
    made = KINDS[kind]
    known = {field.name: field.type for field in fields(made)}
    sizes = {}
    for key, x in data.items():
        if key == "kind":
            continue
        if key not in known:
            raise unknown(f"size of a {kind}", key, known)
        sizes[key] = number(key, x, whole=known[key] is int)
    return made(**sizes)


def number(key: str, x: Any, whole: bool = False) -> float:
    if isinstance(x, bool) or not isinstance(x, int if whole else int | float):
        raise UserError(f"{key}={x!r} is no {'whole ' if whole else ''}number")
    return x if whole else float(x)


def as_toml(plan: CoursePlan) -> str:
    """Write the course as text that `load_course` reads back."""
    quoted = plan.name.replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'name = "{quoted}"']
    lines += [f"{key} = {getattr(plan, key)!r}" for key in ("lane_m", "run_up_m", "landing_m")]
    for piece in plan.pieces:
        lines += ["", "[[pieces]]", f'kind = "{piece.kind}"']
        lines += [f"{key} = {x!r}" for key, x in asdict(piece).items() if x is not None]
    return "\n".join([*lines, ""])


def save_course(plan: CoursePlan, folder: Path) -> Path:
    """Save the course in a new file with its name; the file is written completely or not at all."""
    stem = re.sub(r"[^a-z0-9]+", "-", plan.name.lower()).strip("-") or "course"
    path = folder / f"{stem}{ENDING}"
    if os.path.lexists(path):
        raise UserError(f"'{path}' is there already; give the course another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, as_toml(plan).encode())
    except OSError as error:
        raise UserError(
            f"cannot write '{path}' ({error.strerror}); start in a folder of yours"
        ) from None
    return path
