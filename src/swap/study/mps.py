"""Starts NVIDIA's Multi-Process Service (MPS) for processes that share a GPU.

Without MPS the kernels of several processes take turns; with it they run at the same time. On an
H200 four runs of `swap` together then make one and a half times as many steps as one alone
(docs/log.md).
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
PIPE, LOG = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
WAIT_S = 60.0


@contextlib.contextmanager
def mps(wanted: bool, say: Callable[[str], None]) -> Iterator[dict[str, str]]:
    """Yields the environment variables that the processes need. A service that already runs is
    used; one that is started here is stopped here."""
    if not wanted or PIPE in os.environ:
        yield {}
        return
    if shutil.which(CONTROL) is None:
        say(f"{CONTROL} is not here: runs on one GPU take turns")
        yield {}
        return
    # A short path, because it holds sockets; the same for all studies of a user: one service per
    # GPU.
    place = Path(tempfile.gettempdir()) / f"swap-mps-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    env = {PIPE: str(place), LOG: str(place)}
    if _send_order(env, "get_server_list"):
        yield env  # the service of another study
        return
    if not _run([CONTROL, "-d"], env):
        say(f"{CONTROL} does not start: runs on one GPU take turns")
        yield {}
        return
    try:
        yield env
    finally:
        _send_order(env, "quit")


def _send_order(env: Mapping[str, str], order: str) -> bool:
    return _run([CONTROL], env, order + "\n")


def _run(words: list[str], env: Mapping[str, str], text: str = "") -> bool:
    """Whether the command succeeded."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            words,
            env={**os.environ, **env},
            input=text,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=WAIT_S,
            check=False,
        )
        return done.returncode == 0
    return False
