"""Starts Warp quietly, tests whether it runs on a device, and announces long compilations."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache

import torch
import warp as wp

from swap.caches import WARP, prepare

PATIENCE_S = 4.0
"""Time after which a compilation is announced; kernels from the cache load faster than this."""
AGAIN_S = 10.0
COMPILING = "compiling kernels, once; this may take a minute"


@cache
def init_warp() -> None:
    """Start Warp without its greeting, its warning that there is no GPU, and its kernel reports."""
    prepare(WARP)
    wp.config.log_level = wp.LOG_WARNING
    # The warning comes from Warp's C++ library, so only redirecting the stderr file silences it.
    with contextlib.nullcontext() if torch.cuda.is_available() else _deaf():
        wp.init()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Discard everything that the process writes to stderr."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def announce_compilation(progress: Callable[[], str]) -> Iterator[None]:
    """Wrap work that compiles: print a line on stderr if it takes longer than PATIENCE_S, and
    another one, which ends with `progress`, every AGAIN_S."""
    done = threading.Event()

    def announce() -> None:
        if done.wait(PATIENCE_S):
            return
        print(COMPILING, file=sys.stderr, flush=True)
        while not done.wait(AGAIN_S):
            print(f"compiling kernels: {progress()}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=announce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@wp.kernel
def touch(x: wp.array[float]) -> None:
    x[wp.tid()] = 1.0  # type: ignore[index]


@cache
def warp_runs_on(device: str) -> bool:
    """Whether Warp kernels run on this device: some builds of Warp lack the CPU compiler."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        return False
    init_warp()
    try:
        x = wp.zeros(1, dtype=float, device=device)
        wp.launch(touch, dim=1, inputs=[x], device=device)
        return bool(x.numpy()[0] == 1.0)
    except Exception:  # any error means no
        return False
