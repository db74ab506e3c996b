"""What a command prints, where there is no screen for it: closed, full, or with few letters."""

import contextlib
import io
import os
import sys
from collections.abc import Callable


class Steady(io.TextIOWrapper):
    """A stderr that never fails: a complaint that cannot be told must not hide the exit code."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Streams that are closed lead nowhere; letters that one has not become question marks."""
    # The next file to be opened would take the number of a closed stream, and get what is printed.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (for as long as we run)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    encoding = sys.stderr.encoding if sys.stderr is not None else "utf-8"
    raw = open(2, "wb", buffering=0, closefd=False)  # noqa: SIM115
    sys.stderr = Steady(raw, encoding=encoding, errors="backslashreplace", write_through=True)


def delivered(command: Callable[[], int]) -> int:
    """The command's exit code, once all it printed has arrived; 1, and one line, where the machine
    could not take it: a full disk, a file that is not to be read."""
    try:
        try:
            code = command()
        except SystemExit as stop:  # --help
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"swap: {told(error)}", file=sys.stderr)
        with contextlib.suppress(OSError):  # what is left unsaid stays so
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def told(error: OSError) -> str:
    """In one line, with the file it is about."""
    why = " ".join((error.strerror or str(error) or type(error).__name__).split())
    return (
        f"'{error.filename}': {why}" if error.filename else f"cannot write what is printed: {why}"
    )
