"""Locks a run's folder, and notices if the folder is moved or removed."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from swap.errors import UserError
from swap.files import open_untrusted

LOCK = "run.lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator["Lock"]:
    """Allows one run at a time in a folder; the lock ends with the process, however it ends."""
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # While it is open, no other folder can get its inode number.
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, place)
            file = stack.enter_context(open(folder / LOCK, "a", opener=open_untrusted))
        except OSError as error:
            if error.errno == errno.ELOOP and (folder / LOCK).is_symlink():
                raise UserError(f"'{folder / LOCK}' is a link; remove it") from None
            why = f"cannot write into '{folder}' ({error.strerror})"
            raise UserError(f"{why}; give another --out") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another run is writing into '{folder}'; choose another") from None
        yield Lock(folder, place)


class Lock:
    """A locked folder and its open handle."""

    def __init__(self, folder: Path, handle: int) -> None:
        self.folder, self.handle = folder, handle

    @property
    def lost(self) -> bool:
        """Whether the folder was moved or removed; something else may be in its place."""
        try:
            return not os.path.samestat(os.stat(self.folder), os.fstat(self.handle))
        except OSError:
            return True
