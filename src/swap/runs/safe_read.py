"""Reads bytes, JSON and tensors from untrusted files, or raises a DamagedError that says what is
wrong.

Only plain files are opened: no links, and no pipe that would let us wait for ever. What a file
holds is checked before it is believed, and nothing of it is run.
"""

import json
import math
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

import safetensors.torch
import torch
from torch import Tensor

from swap.errors import printable
from swap.files import plainly

MOST_TEXT = 1 << 26
"""No card or manifest has as many bytes."""
KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class DamagedError(Exception):
    """A file that is not what was written; the message names it, in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def read_file(path: Path, *, size: int | None = None, most: int = MOST_TEXT) -> bytes:
    """All of a plain file, which has `size` bytes, or at most `most` where that is not known."""
    try:
        found = path.lstat()
        kind = stat.S_IFMT(found.st_mode)
        if kind != stat.S_IFREG:
            raise DamagedError(f"{path.name} is {KINDS.get(kind, 'no file')}, not a plain file")
        if size is not None and found.st_size != size:
            raise DamagedError(f"{path.name} has {found.st_size} bytes instead of {size}")
        if size is None and found.st_size > most:
            raise DamagedError(f"{path.name} has {found.st_size} bytes, more than it can need")
        with open(path, "rb", opener=plainly) as file:  # it may be exchanged in this moment
            return file.read(found.st_size)
    except OSError as error:
        raise DamagedError(f"{path.name} cannot be read ({error.strerror})") from None


def parse_json(data: bytes, name: str) -> dict[str, Any]:
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        raise DamagedError(f"{name} is not JSON") from None
    if not isinstance(table, dict):
        raise DamagedError(f"{name} holds no table of names and values")
    return table


def parse_tensors(data: bytes, name: str) -> dict[str, Tensor]:
    """safetensors checks its header: lengths, offsets and shapes must add up to the file."""
    try:
        return safetensors.torch.load(data)
    except Exception as error:  # of many kinds: what is in the file decides
        told = str(error) or type(error).__name__
        raise DamagedError(f"{name} is not a file of tensors ({printable(told, 120)})") from None


def check_finite(tensors: Mapping[str, Tensor], finite: tuple[str, ...]) -> None:
    """No NaN anywhere, and where a name begins with one of `finite`, no infinity."""
    for name, x in tensors.items():
        if not (x.is_floating_point() or x.is_complex()):
            continue
        x = x.float() if x.element_size() == 1 else x  # torch knows little of such small floats
        bad = ~torch.isfinite(x) if name.startswith(finite) else torch.isnan(x)
        if bad.any():
            raise DamagedError(f"'{name}' holds NaN or infinite numbers")


def is_count(value: Any) -> TypeGuard[int]:
    """A number of things: an integer, 0 or more, that is no bool."""
    return type(value) is int and value >= 0


def is_nonnegative(value: Any) -> bool:
    """A finite number, 0 or more."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0
