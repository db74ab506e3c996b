"""Times each layer, forward and backward, against its rivals in one interleaved run.

The rivals have the same width: the dense layer; `expanded`, which builds the full equivariant
weight [[A, B], [B, A]] in each pass, as most implementations do; and escnn if it is installed.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swap.nn.conv import KERNEL, PADDING, STRIDE, ConvTrunk
from swap.nn.gru import GRUCell
from swap.nn.linear import Linear
from swap.nn.mlp import MLP
from swap.symmetry import regular

WIDTHS = (256, 512, 1024)


class Expanded(nn.Module):
    """The usual implementation: two half matrices A, B, expanded to [[A, B], [B, A]] before each
    product."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.a = nn.Parameter(torch.randn(half, half) * width**-0.5)
        self.b = nn.Parameter(torch.randn(half, half) * width**-0.5)
        self.bias = nn.Parameter(torch.zeros(half))

    def forward(self, x: Tensor) -> Tensor:
        top = torch.cat((self.a, self.b), 1)
        weight = torch.cat((top, torch.cat((self.b, self.a), 1)))
        return F.linear(x, weight, self.bias.repeat(2))


class ExpandedConv(nn.Module):
    """The same for images: kernels [[A, B], [flip B, flip A]], the first layer lifting."""

    def __init__(self, channels: tuple[int, ...]) -> None:
        super().__init__()
        sizes = list(zip((1, *channels[:-1]), channels, strict=True))
        self.kernels = nn.ParameterList(
            torch.randn(c_out // 2, c_in, KERNEL, KERNEL) * (c_in * KERNEL**2) ** -0.5
            for c_in, c_out in sizes
        )

    def forward(self, x: Tensor) -> Tensor:
        for kernel in self.kernels:
            other = kernel.flip(-1)
            if kernel.shape[1] > 1:
                other = torch.cat(list(reversed(other.chunk(2, 1))), 1)
            x = F.silu(F.conv2d(x, torch.cat((kernel, other)), stride=STRIDE, padding=PADDING))
        return x.flatten(1)


Contest = tuple[str, Tensor, dict[str, nn.Module]]
"""The name of what is timed, its input, and the rivals, `dense` among them."""


def contests(batch: int, images: int, widths: tuple[int, ...]) -> Iterator[Contest]:
    for width in widths:
        wide = regular(width // 2)
        rivals: dict[str, nn.Module] = {
            "dense": nn.Linear(width, width),
            "equivariant": Linear(wide, wide),
            "expanded": Expanded(width),
        }
        yield f"linear {width}", torch.randn(batch, width), rivals | escnn_mlp(width, 1)
    for width in widths:
        wide = regular(width // 2)
        layers = [nn.Linear(width, width), nn.ELU(), nn.Linear(width, width), nn.ELU()]
        expanded = [Expanded(width), nn.ELU(), Expanded(width), nn.ELU(), Expanded(width)]
        rivals = {
            "dense": nn.Sequential(*layers, nn.Linear(width, width)),
            "equivariant": MLP(wide, (width, width), wide),
            "expanded": nn.Sequential(*expanded),
        }
        yield f"3-layer MLP {width}", torch.randn(batch, width), rivals | escnn_mlp(width, 3)
    cell = {eq: GRUCell(512, 512, equivariant=eq) for eq in (True, False)}
    rivals = {"dense": _Recur(cell[False]), "equivariant": _Recur(cell[True])}
    yield "GRU cell 512", torch.randn(batch, 512), rivals
    channels = (32, 64, 128, 256)
    rivals = {
        "dense": ConvTrunk(channels=channels, norm=False, equivariant=False),
        "equivariant": ConvTrunk(channels=channels, norm=False),
        "expanded": ExpandedConv(channels),
    }
    yield "conv trunk 64x64", torch.randn(images, 1, 64, 64), rivals


class _Recur(nn.Module):
    def __init__(self, cell: GRUCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        return self.cell(x, x)


def bench(
    device: str = "cpu",
    *,
    batch: int = 6000,
    images: int = 64,
    widths: tuple[int, ...] = WIDTHS,
    repeats: int = 15,
    mode: str = "eager",
    bf16: bool = False,
) -> Iterator[dict[str, Any]]:
    """Returns a row for each contest: the dense time, and each rival's time relative to it."""
    for name, x, rivals in contests(batch, images, widths):
        times = race(x.to(device), rivals, device, repeats, mode=mode, bf16=bf16)
        row: dict[str, Any] = {"layer": name, "batch": len(x), "dense ms": times["dense"] * 1e3}
        for rival in ("equivariant", "expanded", "escnn"):
            row[rival] = times[rival] / times["dense"] if rival in times else None
        yield row


def race(
    x: Tensor,
    rivals: dict[str, nn.Module],
    device: str,
    repeats: int,
    *,
    mode: str = "eager",
    bf16: bool = False,
) -> dict[str, float]:
    """The median seconds of each rival's forward and backward pass; the rivals take turns.

    `mode`: eager, compile (torch.compile), or graph (recorded once as a CUDA graph and replayed, so
    that only the time of the GPU counts).
    """
    x = x.requires_grad_()
    passes = {}
    for name, module in rivals.items():
        module = module.to(device)
        call = torch.compile(module) if mode == "compile" and name != "escnn" else module
        step = _pass(call, module, x, device, bf16)
        passes[name] = recorded(step) if mode == "graph" else step
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for run in range(repeats + 3):
        for name, step in passes.items():
            elapsed = timed(step, device)
            if run >= 3:  # the first rounds compile, allocate and warm caches
                seconds[name].append(elapsed)
    return {name: statistics.median(values) for name, values in seconds.items()}


def _pass(
    call: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor, device: str, bf16: bool
) -> Callable[[], None]:
    def step() -> None:
        module.zero_grad(set_to_none=True)
        x.grad = None
        kind = device.split(":")[0]
        with torch.autocast(kind, dtype=torch.bfloat16, enabled=bf16):
            y = call(x)
        y.backward(torch.ones_like(y))

    return step


def recorded(step: Callable[[], None]) -> Callable[[], None]:
    """The pass as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # warm up outside the default stream, as capture requires
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def timed(step: Callable[[], None], device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


def escnn_mlp(width: int, layers: int) -> dict[str, nn.Module]:
    """The same network from escnn if it is installed, otherwise {}."""
    try:
        from escnn import group, gspaces
        from escnn import nn as enn
    except ImportError:
        return {}
    space = gspaces.no_base_space(group.cyclic_group(2))
    kind = enn.FieldType(space, [space.regular_repr] * (width // 2))
    parts: list[nn.Module] = [enn.Linear(kind, kind)]
    for _ in range(layers - 1):
        parts += [enn.ELU(kind, inplace=False), enn.Linear(kind, kind)]
    return {"escnn": _Geometric(kind, enn.SequentialModule(*parts))}


class _Geometric(nn.Module):
    """Wraps tensors with their type, as escnn needs."""

    def __init__(self, kind: Any, net: nn.Module) -> None:
        super().__init__()
        self.kind, self.net = kind, net

    def forward(self, x: Tensor) -> Tensor:
        return self.net(self.kind(x)).tensor
