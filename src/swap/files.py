"""Writes files that are complete or not there at all, and tests beforehand whether a file can be
written.

New content is written to a file beside the target, flushed to the disk, and renamed. A target that
is no regular file (/dev/stdout, a pipe) is written directly: there is nothing to replace.
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOME = 1 << 16
"""Bytes that must fit on the disk before the work begins."""


def write_file(path: Path, data: bytes) -> None:
    """Write a file and flush it to the disk, so that a rename cannot overtake its contents."""
    with open(path, "wb", opener=open_untrusted) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def open_untrusted(path: str, flags: int) -> int:
    """An `opener` for files in untrusted folders: it follows no link and waits for no pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file so that it has the old content or the new one, whatever happens in between."""
    fresh = beside(path)
    write_file(fresh, data)
    fresh.replace(path)
    sync_folder(path.parent)


def replace_pair(path: Path, data: bytes, card: Path, card_data: bytes) -> None:
    """Replace two files that belong together. The first rename is the moment of change: from then
    on the new card is valid, and until it is renamed readers find it `beside` its place.
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
    """The path where the new content of a file waits for its rename."""
    return path.with_name(f".{path.name}.new")


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk: it holds the names, so only then a rename is safe."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; if the body succeeds, that file replaces `path`."""
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
    """Raise OSError if `atomic_write(path)` would fail now; it is tried, as permissions do not
    tell."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    if not replaceable(path):
        return
    target = Path(os.path.realpath(path))
    # The test file has a similar name, because the name may be too long.
    handle, name = tempfile.mkstemp(f".part{target.suffix}", f".{target.stem}.", target.parent)
    try:
        os.write(handle, bytes(SOME))  # a full disk still takes an empty file
    finally:
        os.close(handle)
        os.unlink(name)


def replaceable(path: Path) -> bool:
    """Whether the path is a regular file or free: no device, pipe, or name of an open stream."""
    stream = path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
    return not stream and (path.is_file() or not path.exists())


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the requested path to an OSError, since errors of writing name no file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
