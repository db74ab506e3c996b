"""Accumulates named figures on the device and reads them in one transfer."""

from collections.abc import Sequence

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS, ProcessGroup


class MetricSet:
    """Sums of scalars that are always added at the same time, with a few kernels for all of
    them."""

    def __init__(
        self, names: Sequence[str], device: torch.device, *, means: bool, shared: bool = False
    ) -> None:
        self.names, self.means, self.shared = tuple(names), means, shared
        self.sums = torch.zeros(len(names) + means, dtype=torch.float64, device=device)
        """Makes one sum for each name; for means, the total weight comes last."""

    def add(self, values: Sequence[Tensor], weight: Tensor | None = None) -> None:
        """Adds one scalar for each name. Means are weighted; a weight of 0 leaves the values out,
        whatever they are."""
        new = torch.stack([x.detach() for x in values]).double()
        if not self.means:
            self.sums.add_(new)
            return
        weight = new.new_ones(()) if weight is None else weight.double()
        self.sums[:-1].add_(torch.where(weight > 0, new * weight, 0.0))
        self.sums[-1].add_(weight)


class MetricAccumulator:
    """Holds the sets of figures that others open; `read` returns all figures and starts anew."""

    def __init__(self, device: torch.device, processes: ProcessGroup = SINGLE_PROCESS) -> None:
        self.device, self.processes = device, processes
        self._sets: list[MetricSet] = []

    def means(self, *names: str) -> MetricSet:
        return self._open(MetricSet(names, self.device, means=True))

    def counts(self, *names: str, shared: bool = False) -> MetricSet:
        """`shared`: every process counts the same events, so that they count only once."""
        return self._open(MetricSet(names, self.device, means=False, shared=shared))

    def _open(self, figures: MetricSet) -> MetricSet:
        taken = {name for other in self._sets for name in other.names}
        assert not taken & set(figures.names), f"a name of {figures.names} is taken"
        self._sets.append(figures)
        return figures

    def read(self) -> dict[str, float]:
        """Returns all figures by name, over all processes, without means that have no data. Waits
        for the device."""
        if self.processes.rank:
            for figures in self._sets:
                if figures.shared:
                    figures.sums.zero_()
        (total,) = self.processes.all_reduce(torch.cat([figures.sums for figures in self._sets]))
        every = total.tolist()
        out: dict[str, float] = {}
        start = 0
        for figures in self._sets:
            values = every[start : start + len(figures.sums)]
            start += len(figures.sums)
            weight = values.pop() if figures.means else 1.0
            if weight > 0:
                out |= {name: x / weight for name, x in zip(figures.names, values, strict=True)}
            figures.sums.zero_()
        return out
