"""Torch on one thread while MuJoCo has the others."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def alone(wanted: bool) -> Iterator[None]:
    """The CPU engine has threads of its own. Torch's would wait for work in a loop beside them,
    which costs more than they do for tensors this small."""
    threads = torch.get_num_threads()
    if not wanted or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
