"""Simulates CUDA graphs on a CPU: operations of torch are recorded once and repeated at every
replay.

As on a GPU, recording computes nothing, a replay works on the same memory as when it was recorded,
and the tensors that it returned are overwritten. What the host does in between (Python's numbers,
the choice of a branch) is not repeated. Warp's kernels are not recorded.
"""

from contextlib import contextmanager, nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from swap.device import cuda_graph


class Graph:
    """A `torch.cuda.CUDAGraph`."""

    def __init__(self) -> None:
        self.replays, self._steps = 0, []

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Nothing to do: generators are arguments of the recorded operations, and advance by
        themselves."""

    def note(self, func, args, kwargs, made) -> None:
        self._steps.append((func, args, kwargs, made))

    @torch.no_grad()
    def replay(self) -> None:
        self.replays += 1
        for func, args, kwargs, made in self._steps:
            again = func(*args, **kwargs)
            for old, new in zip(tensors_in(made), tensors_in(again), strict=True):
                if old.data_ptr() != new.data_ptr():  # neither a view nor written in place
                    old.copy_(new)


class Recorder(TorchDispatchMode):
    """Records operations, and restores all tensors from outside at the end."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph, self._made, self._outside, self._chance = graph, set(), {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for x in tree_leaves((args, kwargs)):
            if isinstance(x, torch.Generator):
                self._chance.setdefault(id(x), (x, x.get_state()))
            if isinstance(x, torch.Tensor):
                memory = x.untyped_storage()
                if memory.data_ptr() not in self._made | self._outside.keys():
                    self._outside[memory.data_ptr()] = (memory, memory.clone())
        made = func(*args, **kwargs)
        self._made |= {x.untyped_storage().data_ptr() for x in tensors_in(made)}
        self._made -= self._outside.keys()
        self.graph.note(func, args, kwargs, made)
        return made

    def undo(self) -> None:
        for memory, before in self._outside.values():
            memory.copy_(before)
        for generator, state in self._chance.values():
            generator.set_state(state)


class Stream:
    def __init__(self, device=None) -> None:
        pass

    def wait_stream(self, other) -> None:
        pass


@contextmanager
def recording(graph: Graph, stream: Stream):
    recorder = Recorder(graph)
    with recorder:
        yield
    recorder.undo()


def tensors_in(tree) -> list[torch.Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


def install(monkeypatch) -> None:
    """Makes every device record its work from here on."""
    monkeypatch.setattr(cuda_graph, "can_record", lambda device: True)
    fakes = {
        "Stream": Stream,
        "current_stream": Stream,
        "stream": lambda stream: nullcontext(),
        "CUDAGraph": Graph,
        "graph": lambda graph, stream: recording(graph, stream),
        "synchronize": lambda: None,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
