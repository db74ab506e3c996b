"""Compares every example layer on an input and on its mirror image, bit for bit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from swap.evaluate.layer_examples import Example, examples

PRECISIONS = ("fp32", "fp64", "bf16")
"""bf16 is autocast over fp32 weights. On a GPU `tf32` is added."""


def check(device: str = "cpu", *, compiled: bool = False) -> Iterator[dict[str, Any]]:
    """Returns a row for each example: sizes relative to the plain twin, mirror errors, pass or
    fail."""
    precisions = (*PRECISIONS, "tf32") if device.startswith("cuda") else PRECISIONS
    for example in examples():
        yield check_one(example, device, precisions, compiled=compiled)


def check_one(
    example: Example, device: str, precisions: Sequence[str], *, compiled: bool = False
) -> dict[str, Any]:
    torch.manual_seed(0)
    ours, twin = example.build(True).to(device), example.build(False).to(device)
    row: dict[str, Any] = {"module": example.name}
    row["parameters"], dense = n_parameters(ours), n_parameters(twin)
    row["of dense"] = row["parameters"] / dense if dense else None
    dense_flops = flops(twin, example, device)
    row["FLOPs of dense"] = flops(ours, example, device) / dense_flops if dense_flops else None
    errors = {}
    for precision in precisions:
        errors[precision] = mirror_error(ours, example, precision, device, compiled=compiled)
    errors["gradient"] = gradient_error(ours, example, device)
    row.update(errors)
    row["plain twin"] = mirror_error(twin, example, "fp32", device)
    # Written so that NaN fails.
    row["exact"] = all(error == 0 for error in errors.values())
    return row


def mirror_error(
    module: nn.Module, example: Example, precision: str, device: str, *, compiled: bool = False
) -> float:
    """The largest |f(mirror x) - mirror f(x)| over all outputs."""
    dtype = torch.float64 if precision == "fp64" else torch.float32
    module = module.to(dtype)
    inputs = example.inputs(dtype, device)
    call = torch.compile(module, dynamic=False) if compiled else module
    with torch.no_grad(), numerics(precision, device):
        plain = _tuple(call(*inputs))
        mirrored = _tuple(call(*mirror(example, inputs)))
    module.to(torch.float32)
    return max(
        _largest(there - give(here))
        for there, here, give in zip(mirrored, plain, example.gives, strict=True)
    )


def gradient_error(module: nn.Module, example: Example, device: str) -> float:
    """The largest change of any parameter's gradient when inputs and output gradients are
    mirrored."""
    parameters = list(module.parameters())
    if not parameters:
        return 0.0
    inputs = example.inputs(torch.float32, device)
    with numerics("fp32", device):
        outputs = _tuple(module(*inputs))
        seeds = [torch.randn_like(y) for y in outputs]
        here = torch.autograd.grad(outputs, parameters, seeds)
        outputs = _tuple(module(*mirror(example, inputs)))
        mirrored = [give(g) for give, g in zip(example.gives, seeds, strict=True)]
        there = torch.autograd.grad(outputs, parameters, mirrored)
    return max(_largest(a - b) for a, b in zip(here, there, strict=True))


def mirror(example: Example, inputs: Sequence[Tensor]) -> list[Tensor]:
    return [read(x) for read, x in zip(example.reads, inputs, strict=True)]


@contextmanager
def numerics(precision: str, device: str) -> Iterator[None]:
    """Sets the arithmetic of a precision.

    On a GPU some of cuDNN's convolutions add up in an order that changes from call to call, even on
    the same input; this selects deterministic ones.
    """
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic
    matmul.allow_tf32 = cudnn.allow_tf32 = precision == "tf32"
    cudnn.deterministic = True
    kind = device.split(":")[0]
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=precision == "bf16"):
        yield
    matmul.allow_tf32, cudnn.allow_tf32, cudnn.deterministic = before


def n_parameters(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def flops(module: nn.Module, example: Example, device: str) -> int:
    """Multiply-adds of one forward pass, times two, as torch counts them."""
    with FlopCounterMode(display=False) as counter:
        module(*example.inputs(torch.float32, device))
    return counter.get_total_flops()


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max()) if difference.numel() else 0.0


def _tuple(outputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)
