"""Takes one gradient step together with other processes, averaged over all their samples.

Each process first computes the gradients and figures of its own samples. These are means over the
samples that count, so the mean over all samples is the mean over processes, weighted by how many
samples each of them has. What is not finite in one process is not finite in the sum, so the guard
of every process sees it. The all-reduce cannot be recorded: with several processes a step is two
CUDA graphs with the all-reduce between them; with one process it is one graph.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, ParamSpec

import torch
from torch import Tensor

from swap.device.cuda_graph import GraphedCallable
from swap.distributed import ProcessGroup
from swap.nn import RunningNorm

P = ParamSpec("P")


class Gradients(NamedTuple):
    """The gradients for one step, and the figures that are logged with them."""

    gradients: tuple[Tensor, ...]
    figures: dict[str, Tensor]
    """Scalars, which are means over the same samples."""
    weight: Tensor
    """Any shape; its sum is the number of samples."""


def finite(x: Tensor) -> Tensor:
    """`torch.isfinite` in half the launches."""
    return x.abs() < torch.inf


def scaled(tensors: Sequence[Tensor], factors: Tensor, sizes: Tensor) -> list[Tensor]:
    """Multiplies each tensor by its own factor [n], on a GPU in a few launches; `sizes` [n] are the
    numbers of entries."""
    if not factors.is_cuda:
        return list(torch._foreach_mul(list(tensors), list(factors.unbind())))
    return _scaled_in_one(tensors, factors, sizes)


def _scaled_in_one(tensors: Sequence[Tensor], factors: Tensor, sizes: Tensor) -> list[Tensor]:
    flat = torch.cat([x.reshape(-1) for x in tensors])
    flat.mul_(factors.repeat_interleave(sizes, output_size=len(flat)))
    parts = flat.split([x.numel() for x in tensors])
    return [part.view(x.shape) for part, x in zip(parts, tensors, strict=True)]


def gradient_step(
    compute: Callable[P, Gradients],
    apply: Callable[[Gradients], None],
    processes: ProcessGroup,
    device: torch.device,
    *,
    capture: bool,
    before: Callable[P, None] | None = None,
) -> "GraphedCallable[P, None] | DistributedStep[P]":
    """Joins `compute` and `apply` into one call, with the arguments of `compute`. With several
    processes, `before` is called first, with the same arguments, and may wait for the others."""

    def both(*args: P.args, **named: P.kwargs) -> None:
        apply(compute(*args, **named))

    if processes.alone:
        return GraphedCallable(both, device, enabled=capture)
    return DistributedStep(compute, apply, processes, device, capture=capture, before=before)


class DistributedStep(Generic[P]):
    """Every process computes its gradients, they are averaged, and all take the same step."""

    def __init__(
        self,
        compute: Callable[P, Gradients],
        apply: Callable[[Gradients], None],
        processes: ProcessGroup,
        device: torch.device,
        *,
        capture: bool,
        before: Callable[P, None] | None = None,
    ) -> None:
        self.compute, self.apply, self.processes, self.before = compute, apply, processes, before
        self._flat: Tensor | None = None
        self._put = GraphedCallable(self._compute_gradients, device, enabled=capture)
        self._take = GraphedCallable(self._apply_gradients, device, enabled=capture)
        self.enabled = self._put.enabled

    def __call__(self, *args: P.args, **named: P.kwargs) -> None:
        if self.before is not None:
            self.before(*args, **named)
        self._put(*args, **named)
        assert self._flat is not None
        self.processes.all_reduce_(self._flat)
        self._take()

    def _compute_gradients(self, *args: P.args, **named: P.kwargs) -> None:
        found = self.compute(*args, **named)
        several = [*found.gradients, *found.figures.values()]
        if self._flat is None:  # made in the first call, which is never recorded
            self._like = [torch.empty_like(x) for x in found.gradients]
            self._names = tuple(found.figures)
            self._flat = torch.empty(sum(x.numel() for x in several) + 1, device=several[0].device)
        with torch.no_grad():
            weight = found.weight.sum().to(self._flat.dtype)
            torch.cat([*(x.flatten() for x in several), weight[None]], out=self._flat)
            self._flat[:-1].mul_(weight)

    def _apply_gradients(self) -> None:
        assert self._flat is not None
        weight = self._flat[-1]
        mean = self._flat[:-1] / weight.clamp(min=1)
        *parts, figures = mean.split([*(x.numel() for x in self._like), len(self._names)])
        gradients = tuple(part.view_as(x) for part, x in zip(parts, self._like, strict=True))
        self.apply(
            Gradients(gradients, dict(zip(self._names, figures.unbind(), strict=True)), weight)
        )


class PooledNorms:
    """Running statistics that each process gathers from its own worlds, until they are pooled."""

    def __init__(self, processes: ProcessGroup, *norms: RunningNorm) -> None:
        self.processes, self.norms = processes, norms
        self.begin()

    def begin(self) -> None:
        """Starts from the present statistics, which are the same in all processes."""
        if not self.processes.alone:
            self._common = [norm.sums() for norm in self.norms]

    def pool(self) -> None:
        """Gives every process the statistics that all have gathered."""
        if self.processes.alone:
            return
        pairs = zip(self.norms, self._common, strict=True)
        news = self.processes.all_reduce(*(norm.sums() - common for norm, common in pairs))
        for norm, common, new in zip(self.norms, self._common, news, strict=True):
            norm.load_sums(common + new)
        self.begin()
