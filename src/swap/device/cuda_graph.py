"""Work on tensors that stay in place -> on a GPU one recorded launch, elsewhere a plain call.

A recording replays the very kernels it saw, on the very addresses. So the work must take no
arguments, read from and write to tensors that outlive it, choose nothing on the host (no `.item()`,
no `if tensor`), draw random numbers only from `generators`, and its results are overwritten by the
next call. Warp's launches are recorded too, if they go to torch's current stream.
"""

import gc
import warnings
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch

T = TypeVar("T")

WARM_UP = 3
"""Calls before the recording: libraries choose their kernels and take their workspaces."""


class GraphedCallable(Generic[T]):
    """Call it as the work itself. The warm-up is real work too: nothing is run for nothing."""

    def __init__(
        self,
        work: Callable[[], T],
        device: torch.device,
        *,
        enabled: bool,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self.work, self.generators = work, generators
        self.enabled = enabled and device.type == "cuda"
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream = torch.cuda.Stream(device) if self.enabled else None
        self._result: T

    def __call__(self) -> T:
        if not self.enabled:
            return self.work()
        if self._calls < WARM_UP:
            self._calls += 1
            return self._beside()
        if self._graph is None:
            self._graph = self._record()
        self._graph.replay()
        return self._result

    def _beside(self) -> T:
        """On the stream that will record: memory and workspaces taken now are reused then."""
        assert self._stream is not None
        main = torch.cuda.current_stream()
        self._stream.wait_stream(main)
        with torch.cuda.stream(self._stream), warnings.catch_warnings():
            # Adam asks whether it is meant to run without a recording: this once it is.
            warnings.filterwarnings("ignore", "This instance was constructed with capturable")
            result = self.work()
        main.wait_stream(self._stream)
        return result

    def _record(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:  # each replay then draws on where the last one stopped
            graph.register_generator_state(generator)
        torch.cuda.synchronize()
        gc.collect()
        gc.disable()  # an array collected now would be freed into the recording
        try:
            with torch.cuda.graph(graph, stream=self._stream):
                self._result = self.work()
        finally:
            gc.enable()
        return graph
