"""GraphedCallable copies arguments to the recorded addresses and leaves results where they are.

On a CPU a fake graph records torch's operations and replays them; on a GPU, if there is one, the
real one does.
"""

import pytest
import torch

import fake_cuda_graph
from swap.device.cuda_graph import WARM_UP, GraphedCallable

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=CUDA)])
def device(request, monkeypatch):
    if request.param == "cpu":
        fake_cuda_graph.install(monkeypatch)
    return torch.device(request.param)


class Sums:
    """Adds its arguments to a running total, and draws random numbers."""

    def __init__(self, device) -> None:
        self.total = torch.zeros(3, device=device)
        self.generator = torch.Generator(device).manual_seed(0)
        self.calls = 0  # calls of the Python function: a replay makes none

    def add(self, x, *, weight):
        self.calls += 1
        self.total.add_(x * weight)
        chance = torch.rand(3, generator=self.generator, device=x.device)
        return self.total + 1, chance


def inputs(device, n=9):
    g = torch.Generator().manual_seed(1)
    return [torch.randn(2, 3, generator=g).to(device).unbind() for _ in range(n)]


def made(work, device, *, enabled=True):
    return GraphedCallable(work.add, device, enabled=enabled, generators=(work.generator,))


def test_a_recording_does_what_the_calls_do(device):
    one, two = Sums(device), Sums(device)
    recorded, called = made(one, device), made(two, device, enabled=False)
    for x, weight in inputs(device):
        for ours, theirs in zip(recorded(x, weight=weight), called(x, weight=weight), strict=True):
            assert torch.equal(ours, theirs)
        assert torch.equal(one.total, two.total)
    assert two.calls == 9
    assert one.calls == WARM_UP + 1
    assert recorded._graph is not None
    assert called._graph is None


def test_results_are_always_the_same_tensors_and_arguments_are_left_alone(device):
    work = Sums(device)
    recorded = made(work, device)
    for x, weight in inputs(device):
        before = x.clone(), weight.clone()
        total, _ = recorded(x, weight=weight)
        assert torch.equal(x, before[0])
        assert torch.equal(weight, before[1])
    last = total.clone()
    assert torch.equal(last, work.total + 1)
    for x, weight in inputs(device, 2):
        again, _ = recorded(x, weight=weight)
        assert again.data_ptr() == total.data_ptr()
    assert not torch.equal(total, last)  # a caller must copy a result to keep it


def test_what_an_argument_becomes_after_the_call_is_not_seen(device):
    """The recording reads its own copy, not the tensor of the first call."""
    work = Sums(device)
    recorded = made(work, device)
    x, weight = torch.ones(3, device=device), torch.ones(3, device=device)
    for _ in range(WARM_UP + 2):
        recorded(x, weight=weight)
    kept = x
    recorded(torch.zeros(3, device=device), weight=weight)
    kept.fill_(1e6)
    recorded(torch.zeros(3, device=device), weight=weight)
    assert torch.equal(work.total, torch.full((3,), WARM_UP + 2.0, device=device))


def test_an_argument_of_another_kind_is_our_mistake(device):
    recorded = made(Sums(device), device)
    x = torch.ones(3, device=device)
    recorded(x, weight=x)
    with pytest.raises(AssertionError, match=r"\[1\], first \[3\]"):
        recorded(x[:1], weight=x)
    with pytest.raises(AssertionError, match="float64"):
        recorded(x.double(), weight=x)
    with pytest.raises(AssertionError, match="weight"):
        recorded(x)
    with pytest.raises(ValueError, match="zip"):
        recorded(x, x, weight=x)


def test_without_recording_arguments_are_passed_on():
    x = torch.ones(3)
    plain = GraphedCallable(lambda y: y, torch.device("cpu"), enabled=True)
    assert not plain.enabled
    assert plain(x) is x


def test_work_that_keeps_no_place_is_noticed(monkeypatch):
    """Shows that the fake graph can fail: state that moves to a new tensor is lost in a replay."""
    fake_cuda_graph.install(monkeypatch)

    class Moves(Sums):
        def add(self, x, *, weight):
            self.total = self.total + x * weight
            return self.total.clone(), x

    moving, still = Moves("cpu"), Sums("cpu")
    recorded, called = made(moving, torch.device("cpu")), made(still, torch.device("cpu"))
    for x, weight in inputs("cpu"):
        recorded(x, weight=weight)
        called(x, weight=weight)
    assert not torch.allclose(moving.total, still.total)
