"""Records work on a GPU as a CUDA graph and replays it in one launch; elsewhere it just calls it.

A recording replays the same kernels on the same addresses. The work must therefore keep some rules:

- It reads only its arguments and tensors that outlive it, and writes only to the latter. Arguments
  are tensors; each call copies them to the addresses that were recorded.
- It makes no choice on the host (no `.item()`, no `if tensor`).
- It draws random numbers only from `generators`.

The next call overwrites its results. Warp launches are recorded too if they go to torch's current
stream.
"""

import gc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")

WARM_UP = 3
"""Calls before the recording, in which libraries choose kernels and allocate workspaces."""


class GraphedCallable(Generic[P, T]):
    """Stands in for `work`: call it with the same tensors. Warm-up calls do the real work too, so
    no call is wasted."""

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
        """Copy the arguments to the addresses that the recording reads."""
        if not self._calls:
            self._args = tuple(torch.empty_like(x, device=self.device) for x in args)
            self._named = {k: torch.empty_like(x, device=self.device) for k, x in named.items()}
        assert named.keys() == self._named.keys(), f"{[*named]}, not {[*self._named]}"
        pairs = [*zip(self._args, args, strict=True)]
        pairs += [(mine, named[name]) for name, mine in self._named.items()]
        for mine, x in pairs:  # copy_ would silently broadcast a shape and cast a dtype
            assert x.shape == mine.shape, f"{list(x.shape)}, first {list(mine.shape)}"
            assert x.dtype == mine.dtype, f"{x.dtype}, first {mine.dtype}"
            mine.copy_(x.detach())

    def _run(self) -> T:
        return self.work(*self._args, **self._named)

    def _beside(self) -> T:
        """Run on the stream that will record, so that its memory and workspaces are reused then."""
        assert self._stream is not None
        main = torch.cuda.current_stream()
        self._stream.wait_stream(main)
        with torch.cuda.stream(self._stream):
            result = self._run()
        main.wait_stream(self._stream)
        return result

    def _record(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:  # so that each replay continues its random sequence
            graph.register_generator_state(generator)
        torch.cuda.synchronize()
        gc.collect()
        gc.disable()  # freeing an array during the capture would become part of it
        try:
            with torch.cuda.graph(graph, stream=self._stream):
                self._result = self._run()
        finally:
            gc.enable()
        return graph


def can_record(device: torch.device) -> bool:
    return device.type == "cuda"
