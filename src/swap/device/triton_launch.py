"""Decides which Triton kernels are used, and launches them.

Each kernel replaces torch operations that compute the same, and every caller falls back on those
without a GPU, without Triton, or without the C compiler that Triton needs. SWAP_KERNELS=none
switches the kernels off; a comma-separated list of names uses only those. With TRITON_INTERPRET=1
they run on a CPU, slowly, which is how they are tested.
"""

import os
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from swap.caches import TRITON, prepare
from swap.errors import unknown

try:
    import triton
    import triton.language as tl
except ImportError:  # torch brings it along only for GPUs
    triton, tl = None, SimpleNamespace(constexpr=int)

KERNELS = frozenset(
    {"norm_silu", "hidden", "basis", "gates", "loop", "conv", "loss", "ppo", "statistics"}
)
"""The names of all kernels."""
VARIABLE = "SWAP_KERNELS"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DTYPES = (torch.float32, torch.bfloat16)


def jit(kernel: Any) -> Any:
    """Mark a function as a Triton kernel; without Triton it stays as it is and is never called."""
    return kernel if triton is None else triton.jit(kernel)


def usable(kernel: str, *tensors: Tensor) -> bool:
    """Whether the named kernel is switched on and can work on these tensors."""
    return (
        wanted(kernel)
        and all(x.dtype in DTYPES and (x.is_cuda or INTERPRETED) for x in tensors)
        and not torch.compiler.is_compiling()  # torch.compile does better with plain operations
        and works()
    )


def wanted(kernel: str) -> bool:
    return kernel in _named(os.environ.get(VARIABLE, "none" if INTERPRETED else "all"))


@cache
def _named(text: str) -> frozenset[str]:
    sets = {"all": KERNELS, "none": frozenset[str]()}
    if text in sets:
        return sets[text]
    names = {name.strip() for name in text.split(",")}
    for name in names - KERNELS:
        raise unknown(f"kernel in {VARIABLE}", name, (*sets, *sorted(KERNELS)))
    return frozenset(names)


@cache
def works() -> bool:
    """Whether Triton is installed and works: it needs a C compiler and Python's headers."""
    if triton is None:
        return False
    prepare(TRITON)
    try:
        x = torch.zeros(1, device="cpu" if INTERPRETED else "cuda")
        launch(_add_one, 1, x)
    except Exception:  # whatever the error, the torch operations do the same
        return False
    return True


def padded(width: int) -> int:
    """Round up to a power of two, which Triton's block sizes must be."""
    return 1 << max(0, width - 1).bit_length()


def launch(
    kernel: Any,
    programs: int,
    *args: Any,
    warps: int = 4,
    stages: int | None = None,
    **constants: Any,
) -> None:
    """Run `programs` instances of a kernel on torch's current stream.

    The compiler may not fuse a product and a sum into one rounding: it might do so in one view and
    not in the other, and the mirror would no longer be exact.
    """
    if stages is not None:
        constants["num_stages"] = stages
    kernel[(programs,)](*args, **constants, num_warps=warps, enable_fp_fusion=False)


@jit
def _add_one(x):  # type: ignore[no-untyped-def]
    tl.store(x, tl.load(x) + 1.0)
