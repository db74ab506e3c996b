"""Records work on a GPU as a CUDA graph and replays it in one launch; calls it plainly elsewhere.

A recording replays the very kernels it saw, on the very addresses. So the work reads its arguments,
which are tensors and are copied to where the recording looks for them, and tensors that outlive it;
it writes to the latter only. It chooses nothing on the host (no `.item()`, no `if tensor`), draws
random numbers only from `generators`, and its results are overwritten by the next call. Warp's
launches are recorded too, if they go to torch's current stream.
"""

import gc
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")

WARM_UP = 3
"""Calls before the recording: libraries choose their kernels and take their workspaces."""


class GraphedCallable(Generic[P, T]):
    """Call it as the work itself, with tensors. The warm-up is real work too: nothing is run for
    nothing."""

    def __init__(
        self,
        work: Callable[P, T],
        device: torch.device,
        *,
        enabled: bool,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self.work: Callable[..., T] = work
        self.device, self.generators = device, generators
        self.enabled = enabled and can_record(device)
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream = torch.cuda.Stream(device) if self.enabled else None
        self._args: tuple[Tensor, ...] = ()
        self._named: dict[str, Tensor] = {}
        self._result: T

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        if not self.enabled:
            return self.work(*args, **named)
        self._take(args, named)
        if self._calls < WARM_UP:
            self._calls += 1
            return self._beside()
        if self._graph is None:
            self._graph = self._record()
        self._graph.replay()
        return self._result

    def _take(self, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Copy the arguments to where the recording looks for them."""
        if not self._calls:
            self._args = tuple(torch.empty_like(x, device=self.device) for x in args)
            self._named = {k: torch.empty_like(x, device=self.device) for k, x in named.items()}
        assert named.keys() == self._named.keys(), f"{[*named]}, not {[*self._named]}"
        pairs = [*zip(self._args, args, strict=True)]
        pairs += [(mine, named[name]) for name, mine in self._named.items()]
        for mine, x in pairs:  # a copy would stretch one and round the other without a word
            assert x.shape == mine.shape, f"{list(x.shape)}, first {list(mine.shape)}"
            assert x.dtype == mine.dtype, f"{x.dtype}, first {mine.dtype}"
            mine.copy_(x.detach())

    def _run(self) -> T:
        return self.work(*self._args, **self._named)

    def _beside(self) -> T:
        """On the stream that will record: memory and workspaces taken now are reused then."""
        assert self._stream is not None
        main = torch.cuda.current_stream()
        self._stream.wait_stream(main)
        with torch.cuda.stream(self._stream), warnings.catch_warnings():
            # Adam asks whether it is meant to run without a recording: this once it is.
            warnings.filterwarnings("ignore", "This instance was constructed with capturable")
            result = self._run()
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
                self._result = self._run()
        finally:
            gc.enable()
        return graph


def can_record(device: torch.device) -> bool:
    return device.type == "cuda"
