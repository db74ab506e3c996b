"""Finds a cache folder for each library: its own, or another one if that cannot be written.

Warp, Triton and Matplotlib keep caches under the home folder, and some of them fail with a
traceback if it cannot be written. Each reads an environment variable that names another folder.
"""

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from swap.errors import UserError


@dataclass(frozen=True)
class Cache:
    """What a cache holds, the variable that names its folder, and its default folders."""

    what: str
    variable: str
    default: tuple[str, ...]

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders that must be writable."""
        named = os.environ.get(self.variable)
        cache, config = (
            os.environ.get(f"XDG_{kind}_HOME") or f"~/.{kind.lower()}"
            for kind in ("CACHE", "CONFIG")
        )
        usual = (place.format(cache=cache, config=config) for place in self.default)
        # Path's own expanduser raises where a user has no home.
        return tuple(Path(os.path.expanduser(place)) for place in ([named] if named else usual))


WARP = Cache("Warp's kernels", "WARP_CACHE_PATH", ("{cache}/warp",))
TRITON = Cache("Triton's kernels", "TRITON_CACHE_DIR", ("~/.triton",))
MATPLOTLIB = Cache(
    "Matplotlib's fonts", "MPLCONFIGDIR", ("{config}/matplotlib", "{cache}/matplotlib")
)
CACHES = (WARP, TRITON, MATPLOTLIB)


def prepare(cache: Cache) -> Path:
    """Call this before the library starts. Returns its folder; if that cannot be written, sets the
    variable to another one and says so in one line."""
    bad = next((folder for folder in cache.folders if not usable(folder)), None)
    if bad is None:
        return cache.folders[0]
    spare = spare_folder(cache)
    if spare is None:
        raise UserError(
            f"no folder for {cache.what}: '{bad}' cannot be written, nor a temporary one; "
            f"set {cache.variable} to a folder that can"
        )
    os.environ[cache.variable] = str(spare)
    print(
        f"swap: '{bad}' cannot be written; {cache.what} go to {spare} "
        f"({cache.variable} names another place)",
        file=sys.stderr,
        flush=True,
    )
    return spare


def usable(folder: Path) -> bool:
    """Whether a file can be made there; this is tried, because permissions alone do not tell."""
    if not folder.is_absolute():
        folder = Path.cwd() / folder
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    return False


def spare_folder(cache: Cache) -> Path | None:
    """A private temporary folder, the same at every call so that compiled kernels are reused."""
    with contextlib.suppress(OSError):
        home = Path(tempfile.gettempdir()) / f"swap-{os.getuid()}"
        with contextlib.suppress(FileExistsError):
            home.mkdir(mode=0o700)
        facts = home.lstat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o077 or not usable(home):
            home = Path(tempfile.mkdtemp(prefix="swap-"))
        folder = home / cache.variable.lower()
        return folder if usable(folder) else None
    return None
