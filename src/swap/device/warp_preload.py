"""Compiles the Warp kernels that some work will launch, several at a time.

Warp compiles a module when the first of its kernels is launched, so the modules of a physics step
would be compiled one after the other. Here the work runs once without launching anything. That
tells which modules it needs; then threads compile these, and no others.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import warp as wp

from swap.device.warp_start import announce_compilation

WORKERS = min(os.cpu_count() or 1, 8)
Needs = dict[tuple[Any, int | None], None]
"""Modules and the block sizes that they are compiled for, in the order of their first launch."""


def preload(work: Callable[[], None], device: wp.Device) -> None:
    """Compile and load what `work` launches on the device. Its other effects, on arrays and on the
    host, take place."""
    needs = needed_by(work)

    def progress() -> str:
        return f"{sum(bool(module.execs) for module, _ in needs)} of {len(needs)}"

    with announce_compilation(progress):
        for block_dim in dict.fromkeys(size for _, size in needs):
            modules = [module for module, size in needs if size == block_dim]
            wp.force_load(device, modules, block_dim, max_workers=WORKERS)


def needed_by(work: Callable[[], None]) -> Needs:
    """Run the work without launching its kernels, and return what it would have launched."""
    needs: Needs = {}

    def note(kernel: Any, *_: Any, block_dim: int | None = None, **__: Any) -> None:
        if not kernel.is_generic:  # which module that is depends on the arguments' types
            needs[kernel.module, block_dim] = None

    def once(_: Any, while_body: Callable[..., None], **options: Any) -> None:
        options.pop("stream", None)
        while_body(**options)

    with _replaced(launch=note, launch_tiled=note, capture_while=once):
        work()
    return needs


@contextlib.contextmanager
def _replaced(**functions: Callable[..., None]) -> Iterator[None]:
    kept = {name: getattr(wp, name) for name in functions}
    for name, function in functions.items():
        setattr(wp, name, function)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(wp, name, function)
