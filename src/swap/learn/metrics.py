"""Accumulates named figures on the device and reads them in one transfer."""

from collections.abc import Sequence

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS, ProcessGroup


class MetricSet:
    """Sums of scalars that are always added together, by a handful of kernels for all of them."""

    def __init__(
        self, names: Sequence[str], device: torch.device, *, means: bool, shared: bool = False
    ) -> None:
        self.names, self.means, self.shared = tuple(names), means, shared
        self.sums = torch.zeros(len(names) + means, dtype=torch.float64, device=device)
        """One for each name; for means, the weight of what was added comes last."""

    def add(self, values: Sequence[Tensor], weight: Tensor | None = None) -> None:
        """One scalar for each name. Means are weighted, and a weight of 0 leaves a set out,
        whatever the values are."""
        new = torch.stack([x.detach() for x in values]).double()
        if not self.means:
            self.sums.add_(new)
            return
        weight = new.new_ones(()) if weight is None else weight.double()
        self.sums[:-1].add_(torch.where(weight > 0, new * weight, 0.0))
        self.sums[-1].add_(weight)


class MetricAccumulator:
    """Those who have figures open a set; `read` gives all of them and starts anew."""

    def __init__(self, device: torch.device, processes: ProcessGroup = SINGLE_PROCESS) -> None:
        self.device, self.processes = device, processes
        self._sets: list[MetricSet] = []

    def means(self, *names: str) -> MetricSet:
        return self._open(MetricSet(names, self.device, means=True))

    def counts(self, *names: str, shared: bool = False) -> MetricSet:
        """`shared`: every process counts the same things, which then count once."""
        return self._open(MetricSet(names, self.device, means=False, shared=shared))

    def _open(self, figures: MetricSet) -> MetricSet:
        taken = {name for other in self._sets for name in other.names}
        assert not taken & set(figures.names), f"a name of {figures.names} is taken"
        self._sets.append(figures)
        return figures

    def read(self) -> dict[str, float]:
        """All figures by name, over all processes, means without data left out. Waits for the
        device."""
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
