"""Wraps output whose reader may go away at any time.

A terminal is closed, `tee` ends with the same Ctrl-C, a disk is full: the work matters more than
the lines it prints, so a failed write does no harm; files are still written and the exit code is
still right. Lost output is reported at the end, unless the reader closed the pipe itself.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class ResilientStream:
    """A text stream whose writes never fail; in all else it is the wrapped stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.gone = stream, False
        self.error: OSError | None = None
        """Why output was lost; not set if the reader closed the pipe (`swap mirror | head`)."""

    def write(self, text: str) -> int:
        if not self.gone:
            try:
                self.stream.write(text)
            except (OSError, ValueError) as error:  # ValueError: the stream is closed
                self._give_up(error)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if not self.gone:
            try:
                self.stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Discard what the stream still buffers; otherwise Python would try again at its end."""
        self.gone = True
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            self.error = error
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def prepare_streams() -> None:
    """Make stdout and stderr safe: closed streams go to /dev/null, characters that stdout cannot
    encode become question marks, and failed writes neither stop work nor hide the exit code."""
    # Otherwise the next opened file would get a closed stream's number, and everything printed.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (for as long as we run)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    sys.stdout, sys.stderr = resilient(sys.stdout), resilient(sys.stderr)


def resilient(stream: TextIO) -> TextIO:
    """The stream as a ResilientStream; one that is resilient already is returned as it is."""
    return stream if isinstance(stream, ResilientStream) else cast(TextIO, ResilientStream(stream))


@contextlib.contextmanager
def resilient_output() -> Iterator[None]:
    """Ignore all failed writes to stdout and stderr in the body."""
    out, err = resilient(sys.stdout), resilient(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            yield
        finally:
            for stream in (out, err):
                stream.flush()
                cast(ResilientStream, stream).error = None


def lost_output() -> OSError | None:
    """The error because of which some output was lost, or None."""
    out = resilient(sys.stdout)
    out.flush()
    return cast(ResilientStream, out).error


def write_stderr(line: str) -> None:
    """Write one line to stderr, also from a signal handler, where print is not safe."""
    with contextlib.suppress(OSError):
        os.write(2, f"{line}\n".encode())
