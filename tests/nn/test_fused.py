"""What can be said of the fused kernels without a GPU: that everything goes on without them."""

import pytest
import torch
import torch.nn.functional as F

from swap.nn import fused


@pytest.fixture
def compiles():
    fused.compiles.cache_clear()
    yield fused.compiles
    fused.compiles.cache_clear()


def test_without_triton_there_is_no_fused_kernel(compiles, monkeypatch):
    monkeypatch.setattr(fused, "triton", None)
    assert not compiles("cpu")
    assert not fused.fits(torch.randn(2, 16, 4, 4), F.silu)


def test_a_triton_that_cannot_compile_is_left_alone(compiles, monkeypatch):
    def no_compiler(*_):
        raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr(fused, "triton", object())
    monkeypatch.setattr(fused, "norm_silu", no_compiler)
    assert not compiles("cpu")
    monkeypatch.setattr(fused, "norm_silu", lambda *_: None)
    compiles.cache_clear()
    assert compiles("cpu")
