"""Runs Warp on torch's stream, and records Warp work to replay it in one launch."""

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import torch
import warp as wp

from swap.device.warp_preload import preload
from swap.device.warp_start import init_warp

_streams: dict[tuple[int, int], wp.Stream] = {}


def warp_stream(device: torch.device) -> wp.Stream:
    """Return torch's current stream as a Warp stream. The result is cached: registering a stream
    costs more than a launch, and must not happen while the stream records."""
    stream = torch.cuda.current_stream(device)
    key = (stream.device.index, stream.cuda_stream)
    if key not in _streams:
        _streams[key] = wp.stream_from_torch(stream)
    return _streams[key]


class WarpGraph:
    """Runs Warp launches on torch's current stream, and records them into a graph."""

    def __init__(self, device: torch.device) -> None:
        init_warp()
        self._torch_device = device
        self._device = wp.device_from_torch(device)
        self._graph: Any = None

    @contextlib.contextmanager
    def scope(self) -> Iterator[Any]:
        """Send Warp launches inside to torch's stream, so that both run in program order."""
        with wp.ScopedDevice(self._device):
            if not self._device.is_cuda:
                yield None
                return
            stream = warp_stream(self._torch_device)
            with wp.ScopedStream(stream, sync_enter=False):  # one stream needs no sync
                yield stream

    def record(self, work: Callable[[], None]) -> None:
        """Compile the kernels of the work, run it once and record it. The arrays it uses must stay
        alive, at the same address, as long as the recording is played."""
        # On a stream of our own: CUDA cannot record on the default one.
        side = torch.cuda.Stream(self._torch_device) if self._device.is_cuda else None
        wp.synchronize_device(self._device)
        with torch.cuda.stream(side), self.scope() as stream:
            preload(work, self._device)
            work()
            gc.collect()
            gc.disable()  # freeing an array during the capture would become part of it
            try:
                with wp.ScopedCapture(self._device, stream=stream) as capture:
                    work()
            finally:
                gc.enable()
        self._graph = capture.graph
        wp.synchronize_device(self._device)

    def play(self) -> None:
        with self.scope() as stream:
            wp.capture_launch(self._graph, stream=stream)

    @property
    def recorded(self) -> bool:
        return self._graph is not None
