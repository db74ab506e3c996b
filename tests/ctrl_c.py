"""A command that is stopped by Ctrl-C while a process that it has started is at work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def swap_until_ctrl_c(
    home: Path, *words: object, after_s: float, everyone: bool = True
) -> tuple[int, int, str]:
    """Its pid, exit code and all that was printed. Ctrl-C comes so long after it has started the
    other process; a terminal sends it to both."""
    with (home / "said").open("w+b") as said:
        run = subprocess.Popen(
            [sys.executable, "-m", "swap", *map(str, words)],
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            wait_for_child(run)
            time.sleep(after_s)
            (os.killpg if everyone else os.kill)(run.pid, signal.SIGINT)
            code = run.wait(timeout=60)
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
        said.seek(0)
        return run.pid, code, said.read().decode()


def wait_for_child(run: subprocess.Popen) -> None:
    for _ in range(1200):
        assert run.poll() is None
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        if any(b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children):
            return
        time.sleep(0.05)
    raise TimeoutError("it starts no process")
