"""Writes files that are complete or not there at all, and tests beforehand whether a file can be
written.

What is new is written beside its place, seen through to the disk, and renamed. Where the place is
no file (/dev/stdout, a pipe) it is written as it is: there is nothing to replace.
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOME = 1 << 16
"""Bytes that a disk should have room for before the work begins."""


def write_file(path: Path, data: bytes) -> None:
    """Written and on the disk: a rename must not overtake its contents."""
    with open(path, "wb", opener=plainly) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def plainly(path: str, flags: int) -> int:
    """An `opener` of files in folders from strangers: a link is not followed, to read from or to
    write to whatever it names; a pipe is not waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def replace_file(path: Path, data: bytes) -> None:
    """The old content or the new one, whatever happens in between."""
    fresh = beside(path)
    write_file(fresh, data)
    fresh.replace(path)
    sync_folder(path.parent)


def replace_pair(path: Path, data: bytes, card: Path, card_data: bytes) -> None:
    """Two files that belong together. The moment of change is the first rename: from then on the
    new card is the right one, and until it has its place it lies `beside` it, for readers to find.
    """
    fresh, fresh_card = beside(path), beside(card)
    try:
        with _named(path):
            write_file(fresh_card, card_data)
            write_file(fresh, data)
            sync_folder(path.parent)
            fresh.replace(path)
    except OSError:
        for left in (fresh, fresh_card):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    fresh_card.replace(card)
    sync_folder(path.parent)


def beside(path: Path) -> Path:
    """Where the new content of a file waits."""
    return path.with_name(f".{path.name}.new")


def sync_folder(folder: Path) -> None:
    """Names live in the folder: a rename is safe once the folder is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A path to write to in its stead; what is there takes the place of `path` at a good end."""
    if not replaceable(path):
        with _named(path):
            yield path
        return
    target = Path(os.path.realpath(path))  # a link stays one, and its file is replaced
    part = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        with _named(path):
            yield part
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def try_file(path: Path) -> None:
    """OSError if `atomic_write(path)` would fail now: it is tried, as permissions do not tell."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    if not replaceable(path):
        return
    target = Path(os.path.realpath(path))
    # The name of the file itself counts, too: it may be too long.
    handle, name = tempfile.mkstemp(f".part{target.suffix}", f".{target.stem}.", target.parent)
    try:
        os.write(handle, bytes(SOME))  # a full disk has room for a name alone
    finally:
        os.close(handle)
        os.unlink(name)


def replaceable(path: Path) -> bool:
    """Not a device or a pipe, nor another name of a stream that may lead to a file."""
    stream = path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
    return not stream and (path.is_file() or not path.exists())


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """An error of writing names no file; this one does, the one that was asked for."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
