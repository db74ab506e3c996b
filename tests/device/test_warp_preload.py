"""Kernels are compiled before work launches them, and only those that it launches."""

import numpy as np
import pytest
import warp as wp

from swap.courses import make
from swap.device import warp_preload
from swap.device.warp_preload import needed_by, preload
from swap.device.warp_start import init_warp
from swap.robots import load
from swap.sim.gpu import GpuEngine

init_warp()


def kernels():
    """Three kernels, each in a new module of its own."""

    @wp.kernel(module="unique")
    def used(x: wp.array[float]):
        x[wp.tid()] = x[wp.tid()] + 1.0

    @wp.kernel(module="unique")
    def looped(x: wp.array[float], left: wp.array[int]):
        x[wp.tid()] = x[wp.tid()] * 2.0
        left[0] = left[0] - 1

    @wp.kernel(module="unique")
    def unused(x: wp.array[float]):
        x[wp.tid()] = x[wp.tid()] - 3.0

    return used, looped, unused


@pytest.fixture
def scene():
    used, looped, unused = kernels()
    x, left = wp.full(4, 1.0, dtype=float, device="cpu"), wp.full(1, 2, dtype=int, device="cpu")

    def work():
        wp.launch(used, dim=4, inputs=[x], device="cpu")
        wp.capture_while(left, turn, stream=None)

    def turn():
        wp.launch(looped, dim=4, inputs=[x, left], device="cpu")

    return work, x, (used, looped, unused)


def test_what_work_needs_is_found_without_a_launch(scene):
    work, x, (used, looped, _) = scene
    before = wp.launch
    assert list(needed_by(work)) == [(used.module, None), (looped.module, None)]
    assert x.numpy().tolist() == [1.0] * 4
    assert wp.launch is before


def test_only_that_is_compiled(scene):
    work, _, every = scene
    preload(work, wp.get_device("cpu"))
    assert [bool(kernel.module.execs) for kernel in every] == [True, True, False]


def test_block_sizes_are_those_of_the_launch():
    used, *_ = kernels()
    x = wp.zeros(4, dtype=float, device="cpu")

    def work():
        wp.launch(used, dim=4, inputs=[x], device="cpu", block_dim=64)
        wp.launch_tiled(used, dim=[4], inputs=[x], device="cpu", block_dim=32)

    assert list(needed_by(work)) == [(used.module, 64), (used.module, 32)]


def test_launches_work_again_after_an_error():
    before = wp.launch, wp.launch_tiled, wp.capture_while

    def work():
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="middle"):
        needed_by(work)
    assert (wp.launch, wp.launch_tiled, wp.capture_while) == before


def test_the_physics_needs_nothing_else(monkeypatch):
    """After the engine has found what its step launches, the step compiles nothing."""
    found = []

    def watched(work):
        found.append(needed_by(work))
        return found[-1]

    monkeypatch.setattr(warp_preload, "needed_by", watched)
    flat = make("flat", 0.0, np.random.default_rng(0))
    engine = GpuEngine(load("apollo"), [flat], 1, device="cpu")
    loaded = {module: len(module.execs) for module, _ in found[0]}
    assert len(loaded) > 30
    engine.step(engine.state.joint_pos.clone())
    assert {module: len(module.execs) for module in loaded} == loaded
