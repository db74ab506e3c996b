"""Divides the CPU's cores between MuJoCo's threads, torch's threads and threads of our own."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

import torch

A = TypeVar("A")
B = TypeVar("B")


@contextmanager
def one_thread(wanted: bool) -> Iterator[None]:
    """Run the body with one torch thread if `wanted`.

    The CPU engine has threads of its own, and the networks are too small to gain from several:
    inference for 128 worlds takes 8.5 ms on 2 threads, 3.4 on one.
    """
    with _torch_threads(1 if wanted else torch.get_num_threads()):
        yield


class SideBySide:
    """Runs two functions at once on a CPU, each with half of torch's threads.

    Torch's own threads share each operation and wait for each other after it. If another program
    holds one of the cores, they wait long and often; two functions wait once.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_cpu = device.type == "cpu"
        self._second: ThreadPoolExecutor | None = None

    @property
    def active(self) -> bool:
        return self._second is not None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Within this context, calls run at once where there are threads for it."""
        threads = torch.get_num_threads()
        if not self._on_cpu or threads == 1:
            yield
            return
        share = threads // 2
        with (
            _torch_threads(share),
            ThreadPoolExecutor(1, initializer=lambda: torch.set_num_threads(share)) as self._second,
        ):
            try:
                yield
            finally:
                self._second = None

    def __call__(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """The results of both functions."""
        if self._second is None:
            return first(), second()
        later = self._second.submit(second)
        return first(), later.result()


class Cores:
    """Divides rows among a CPU's cores, for work that does not hold Python's lock. Each has one
    torch thread."""

    FEW = 32
    """No core gets fewer rows than this: waking a thread takes 20 us."""

    def __init__(self, rows: int, device: torch.device) -> None:
        cores = torch.get_num_threads() if device.type == "cpu" else 1
        shares = max(1, min(cores, rows // self.FEW))
        edges = [k * rows // shares for k in range(shares + 1)]
        self._ranges = [*pairwise(edges)]
        self._others = None
        if shares > 1:
            self._others = ThreadPoolExecutor(
                shares - 1, initializer=lambda: torch.set_num_threads(1)
            )

    def __call__(self, work: Callable[[int, int], None]) -> None:
        """Calls `work(first, last)` for all ranges of rows at once, and waits for them."""
        if self._others is None:
            work(*self._ranges[0])
            return
        later = [self._others.submit(work, *rows) for rows in self._ranges[1:]]
        with one_thread(True):
            work(*self._ranges[0])
        for one in later:
            one.result()


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
