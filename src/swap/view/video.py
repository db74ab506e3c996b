"""Writes pictures as an mp4, a GIF, or a strip side by side.

The file appears under its name only when it is complete: a run that stops half-way leaves the
previous film as it was.
"""

import errno
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import imageio_ffmpeg
import numpy as np
from PIL import Image

from swap.errors import UserError
from swap.files import atomic_write

KINDS = (".mp4", ".gif")
QUALITY = 20
"""H.264's constant rate factor: at 18 losses are invisible, at 28 they show."""
GIF_PALETTE = "split[a][b];[a]palettegen=max_colors=128[p];[b][p]paletteuse=dither=none"
"""One palette for the whole film, because one for each frame would flicker; no dither, which
compresses badly."""
GIF_FASTEST = 50
"""A GIF counts time in hundredths of a second, and players slow down frames shorter than 2 of
them."""
FULL = os.strerror(errno.ENOSPC)
SEAM = 4
"""White pixels between pictures."""


class Video:
    """Writes frames of one size. Use as a context manager, or `close` it."""

    def __init__(self, path: str | Path, fps: float = 50) -> None:
        self.path, self.fps = Path(path), fps
        if self.path.suffix.lower() not in KINDS:
            raise UserError(f"cannot write '{self.path.name}'; end it in {' or '.join(KINDS)}")
        if not 1 <= fps <= 120:
            raise UserError(f"fps={fps:g}; use 25 or 50")
        if self.path.suffix.lower() == ".gif" and fps > GIF_FASTEST:
            raise UserError(f"a GIF of {fps:g} frames a second; use at most {GIF_FASTEST}")
        self.frames = 0
        self._part = self.path.with_name(f".{self.path.stem}.part{self.path.suffix.lower()}")
        self._size: tuple[int, int] | None = None
        self._ffmpeg: subprocess.Popen | None = None
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `discard`)
        self._closed = False
        try:
            self._part.touch()
        except OSError as error:
            self._complaints.close()
            raise _unwritable(self.path, error) from None

    def __enter__(self) -> "Video":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def add(self, picture: np.ndarray) -> None:
        """Adds a frame, uint8 RGB [height, width, 3]; all frames must have the size of the
        first."""
        if self._closed:
            raise UserError(f"'{self.path}' is closed; open a new film")
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise UserError(
                f"a frame is {picture.dtype} {list(picture.shape)}; give uint8 [height, width, 3]"
            )
        height, width = picture.shape[:2]
        if self._size is None:
            self._size = (width, height)
            self._ffmpeg = self._start(width, height)
        if (width, height) != self._size:
            raise UserError(f"a frame of {width}x{height} in a film of {self._size}; keep one size")
        self._send(picture)
        self.frames += 1

    def close(self) -> None:
        """Finishes the file and moves it to its place."""
        if self._closed:
            return
        if self.frames == 0:
            self.discard()
            raise UserError(f"'{self.path}' has no frames; add one before closing")
        try:
            self._finish()
            self._part.replace(self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Stops without a file."""
        if self._ffmpeg is not None and self._ffmpeg.poll() is None:
            self._ffmpeg.kill()
        if self._ffmpeg is not None:
            self._ffmpeg.communicate()  # closes the pipe, waits for the end
        self._ffmpeg, self._closed = None, True
        self._complaints.close()
        self._part.unlink(missing_ok=True)

    def _start(self, width: int, height: int) -> subprocess.Popen:
        frames = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        if self._part.suffix == ".gif":
            codec = ["-filter_complex", GIF_PALETTE, "-loop", "0"]  # 0: for ever
        elif width % 2 or height % 2:
            raise UserError(f"a film of {width}x{height}; mp4 needs even numbers of pixels")
        else:
            codec = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", str(QUALITY)]
            # With the index in front, browsers can start before the whole file has arrived.
            codec += ["-preset", "veryfast", "-movflags", "+faststart"]
        frames += ["-r", str(self.fps), "-i", "-", "-an"]
        try:
            quiet = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error"]
            return subprocess.Popen(
                [*quiet, *frames, *codec, str(self._part)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
            )
        except (OSError, RuntimeError) as error:
            raise UserError(
                f"no ffmpeg to write '{self.path}' with: {_line(error)}; swap doctor tells more"
            ) from None

    def _send(self, picture: np.ndarray) -> None:
        assert self._ffmpeg is not None
        assert self._ffmpeg.stdin is not None
        try:
            self._ffmpeg.stdin.write(np.ascontiguousarray(picture).data)
        except OSError:  # ffmpeg has ended, and said why
            self._finish()
            raise UserError(f"ffmpeg stopped before '{self.path}' was whole") from None

    def _finish(self) -> None:
        """Waits for ffmpeg and raises its error, if any."""
        assert self._ffmpeg is not None
        self._ffmpeg.communicate()
        code, self._ffmpeg = self._ffmpeg.returncode, None
        if code != 0:
            self._complaints.seek(0)
            said = self._complaints.read().decode(errors="replace").strip().splitlines()
            self.discard()
            if any(FULL in line for line in said):  # the last line may be about something else
                raise OSError(errno.ENOSPC, FULL, str(self.path))
            why = said[-1] if said else f"exit code {code}"
            raise UserError(f"ffmpeg could not write '{self.path}': {why}")


def strip(frames: Sequence[np.ndarray], count: int, seam: int = SEAM) -> np.ndarray:
    """Puts `count` of the frames, evenly spaced from first to last, side by side on white."""
    if not 1 <= count <= len(frames):
        raise UserError(f"a strip of {count} out of {len(frames)} frames; use 1..{len(frames)}")
    chosen = np.linspace(0, len(frames) - 1, count).round().astype(int)
    white = np.full((frames[0].shape[0], seam, 3), 255, np.uint8)
    parts = [part for k in chosen for part in (frames[k], white)]
    return np.hstack(parts[:-1])


def stacked(strips: Sequence[np.ndarray], seam: int = SEAM) -> np.ndarray:
    """Puts strips of one width below each other on white."""
    white = np.full((seam, strips[0].shape[1], 3), 255, np.uint8)
    parts = [part for each in strips for part in (each, white)]
    return np.vstack(parts[:-1])


def save_picture(picture: np.ndarray, path: str | Path) -> None:
    """Writes a PNG."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise UserError(f"cannot write '{path.name}'; end it in .png")
    try:
        with atomic_write(path) as file:
            Image.fromarray(picture).save(file, optimize=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> Exception:
    """A wrong path is the user's mistake, a full disk is not."""
    if error.errno == errno.ENOSPC:
        return OSError(error.errno, FULL, str(path))
    return UserError(f"cannot write '{path}': {error.strerror or _line(error)}")


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
