"""The command `swap` in this process: exit code and output of a process of its own, but torch is
loaded once."""

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from swap.cli import main as cli
from swap.signals import SIGNALS


def swap(*words: object, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    """What `python -m swap ...` would end with and print. An error that main() lets through, which
    a process would show as a traceback, is raised."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding, errors=errors, write_through=True)
        for errors in ("strict", "backslashreplace")  # as Python opens them
    )
    line = ["swap", *map(str, words)]
    handlers = {sig: signal.getsignal(sig) for sig in SIGNALS}
    code = None
    try:
        with (
            patch.object(sys, "argv", line),
            patch.dict(os.environ),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        for sig, handler in handlers.items():
            signal.signal(sig, handler)
    assert code is not None, "the command did not exit"
    shown = (stream.buffer.getvalue().decode(encoding) for stream in (out, err))
    return subprocess.CompletedProcess(line, code, *shown)
