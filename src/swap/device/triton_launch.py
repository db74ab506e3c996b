"""Triton, where there is one: which of our kernels are used, and how they are launched.

A kernel stands for steps of torch that do the same, and each caller falls back on those: without a
GPU, without Triton, or without a C compiler for it. SWAP_KERNELS=none switches them off, names with
commas between leave only those. With TRITON_INTERPRET=1 they run on a CPU, slowly: so they are
tested.
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
"""All there are."""
VARIABLE = "SWAP_KERNELS"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DTYPES = (torch.float32, torch.bfloat16)


def jit(kernel: Any) -> Any:
    """A function in Triton's language; without Triton, one that nobody calls."""
    return kernel if triton is None else triton.jit(kernel)


def usable(kernel: str, *tensors: Tensor) -> bool:
    """Whether the kernel of that name is wanted, and can work on these."""
    return (
        wanted(kernel)
        and all(x.dtype in DTYPES and (x.is_cuda or INTERPRETED) for x in tensors)
        and not torch.compiler.is_compiling()  # a compiler does better with steps it can see into
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
    """Whether Triton is there and works: it wants a C compiler and Python's headers."""
    if triton is None:
        return False
    prepare(TRITON)
    try:
        x = torch.zeros(1, device="cpu" if INTERPRETED else "cuda")
        launch(_add_one, 1, x)
    except Exception:  # whatever its compiler says, the plain steps do the same
        return False
    return True


def padded(width: int) -> int:
    """Blocks in Triton are powers of two."""
    return 1 << max(0, width - 1).bit_length()


def launch(
    kernel: Any,
    programs: int,
    *args: Any,
    warps: int = 4,
    stages: int | None = None,
    **constants: Any,
) -> None:
    """Run `programs` of a kernel on torch's current stream.

    Products and sums are not fused into one rounding: the compiler might fuse them in one view and
    not in the other.
    """
    if stages is not None:
        constants["num_stages"] = stages
    kernel[(programs,)](*args, **constants, num_warps=warps, enable_fp_fusion=False)


@jit
def _add_one(x):  # type: ignore[no-untyped-def]
    tl.store(x, tl.load(x) + 1.0)
