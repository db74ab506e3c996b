"""Keeps what layers derive from their weights, such as scaled and stacked weights, while these are
frozen.

A batch of one spends more time on deriving such weights than on using them. Networks that only act
are frozen (`requires_grad_(False)`), so they derive them once; the numbers are the same.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


class WeightCache(Generic[T]):
    """Call it with the parameters and a function that derives something from them. The function is
    called again if a parameter can learn (a fused optimiser writes to weights unnoticed), if one
    was written to, and always on a GPU, where a recording repeats it in every replay."""

    def __init__(self) -> None:
        # Key and result in one, because several threads may write and read it.
        self._kept: tuple[list[tuple[int, int]], T] | None = None

    def __call__(self, parameters: Sequence[Tensor], make: Callable[[], T]) -> T:
        if not all(_frozen(p) for p in parameters) or torch.compiler.is_compiling():
            return make()
        key = [(p.data_ptr(), p._version) for p in parameters]
        kept = self._kept
        if kept is None or kept[0] != key:
            self._kept = kept = key, make()
        return kept[1]


def _frozen(parameter: Tensor) -> bool:
    # Tensors made in inference mode do not count what is written to them.
    return parameter.is_cpu and not (parameter.requires_grad or parameter.is_inference())


@contextmanager
def frozen(net: nn.Module) -> Iterator[None]:
    """Within this context nothing in `net` learns, so that on a CPU its layers keep what they
    derive."""
    learning = [p for p in net.parameters() if p.requires_grad and p.is_cpu]
    # A fused optimiser may have written to the weights since they were frozen last.
    torch.autograd.graph.increment_version(learning)
    for p in learning:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learning:
            p.requires_grad_(True)
