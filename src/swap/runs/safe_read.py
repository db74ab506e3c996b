"""Reads bytes, JSON and tensors from untrusted files, or raises a DamagedError that says what is
wrong.

Only plain files are opened: no links, and no pipe that would make us wait for ever. What a file
holds is checked before it is used, and nothing in it is run.
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
from swap.files import open_untrusted

MOST_TEXT = 1 << 26
"""Most bytes of a card or manifest."""
KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class DamagedError(Exception):
    """Raised for a file that is not what was written; the message names it, in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def read_file(path: Path, *, size: int | None = None, most: int = MOST_TEXT) -> bytes:
    """Reads a plain file, which must have `size` bytes, or at most `most` if the size is not
    known."""
    try:
        found = path.lstat()
        kind = stat.S_IFMT(found.st_mode)
        if kind != stat.S_IFREG:
            raise DamagedError(f"{path.name} is {KINDS.get(kind, 'no file')}, not a plain file")
        if size is not None and found.st_size != size:
            raise DamagedError(f"{path.name} has {found.st_size} bytes instead of {size}")
        if size is None and found.st_size > most:
            raise DamagedError(f"{path.name} has {found.st_size} bytes, more than it can need")
        with open(
            path, "rb", opener=open_untrusted
        ) as file:  # the file may be swapped at this moment
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
    """Parses safetensors, which checks that lengths, offsets and shapes in the header match the
    file."""
    try:
        return safetensors.torch.load(data)
    except Exception as error:  # many kinds, depending on the contents of the file
        message = str(error) or type(error).__name__
        raise DamagedError(f"{name} is not a file of tensors ({printable(message, 120)})") from None


def check_finite(tensors: Mapping[str, Tensor], finite: tuple[str, ...]) -> None:
    """Raises DamagedError for any NaN, and for an infinity in a tensor whose name begins with one
    of `finite`."""
    for name, x in tensors.items():
        if not (x.is_floating_point() or x.is_complex()):
            continue
        x = x.float() if x.element_size() == 1 else x  # torch lacks most operations on 8-bit floats
        bad = ~torch.isfinite(x) if name.startswith(finite) else torch.isnan(x)
        if bad.any():
            raise DamagedError(f"'{name}' holds NaN or infinite numbers")


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer, 0 or more, and not a bool."""
    return type(value) is int and value >= 0


def is_nonnegative(value: Any) -> bool:
    """Whether a value is a finite number, 0 or more."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0
