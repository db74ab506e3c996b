"""Runs work on a second stream of a GPU, beside what the main stream does; elsewhere, in turn."""

import contextlib
from collections.abc import Iterator

import torch


class SideStream:
    """`fork`, any number of `with stream.work():`, then `join`.

    The work and what the main stream is given between `fork` and `join` must not write what the
    other reads. The host hands out both in one order, so random numbers are drawn as if there were
    only one stream.
    """

    def __init__(self, device: torch.device, *, enabled: bool) -> None:
        self.enabled = enabled and device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if self.enabled else None

    def fork(self) -> None:
        """Work sees what the main stream has done up to here."""
        if self.enabled and self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream())

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        with torch.cuda.stream(self._stream if self.enabled else None):
            yield

    def join(self) -> None:
        """From here on the main stream sees what the work did."""
        if self.enabled and self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
