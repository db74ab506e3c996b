"""Wraps output whose reader may go away at any time.

A terminal is closed, `tee` dies of the same Ctrl-C, a disk is full: work is worth more than the
lines it prints, so a write that fails does no harm; files are written and the exit code is found
all the same. What was lost is told in the end, unless the reader had seen enough.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class ResilientStream:
    """A text stream that can be written to whatever becomes of it; otherwise the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.gone = stream, False
        self.error: OSError | None = None
        """Why something was lost; not set where the reader has left (`swap mirror | head`)."""

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
        """What the stream still holds goes nowhere; else Python would try again when it ends."""
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
    """Streams that are closed lead nowhere; letters that stdout has not become question marks; and
    what cannot be told stops no work and does not hide the exit code."""
    # The next file to be opened would take the number of a closed stream, and get what is printed.
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
    """The stream, made to last; once is enough."""
    return stream if isinstance(stream, ResilientStream) else cast(TextIO, ResilientStream(stream))


@contextlib.contextmanager
def resilient_output() -> Iterator[None]:
    """Stdout and stderr may go away while this lasts, and nobody will notice."""
    out, err = resilient(sys.stdout), resilient(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            yield
        finally:
            for stream in (out, err):
                stream.flush()
                cast(ResilientStream, stream).error = None


def lost_output() -> OSError | None:
    """Why some of what was printed did not arrive."""
    out = resilient(sys.stdout)
    out.flush()
    return cast(ResilientStream, out).error


def write_stderr(line: str) -> None:
    """One line on stderr, from a signal handler too, where print is not safe."""
    with contextlib.suppress(OSError):
        os.write(2, f"{line}\n".encode())
