"""Everything works without fused kernels where there is no GPU or no Triton."""

import pytest
import torch
import torch.nn.functional as F

from swap.device import triton_launch
from swap.errors import UserError
from swap.nn import fused_norm


@pytest.fixture
def works():
    triton_launch.works.cache_clear()
    yield triton_launch.works
    triton_launch.works.cache_clear()


def test_without_triton_there_is_no_fused_kernel(works, monkeypatch):
    monkeypatch.setattr(triton_launch, "triton", None)
    monkeypatch.setattr(triton_launch, "INTERPRETED", True)
    monkeypatch.setenv("SWAP_KERNELS", "all")
    assert not works()
    assert not fused_norm.fits(torch.randn(2, 16, 4, 4), F.silu)


def test_a_triton_that_cannot_compile_is_left_alone(works, monkeypatch):
    def no_compiler(*_):
        raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr(triton_launch, "triton", object())
    monkeypatch.setattr(triton_launch, "INTERPRETED", True)
    monkeypatch.setattr(triton_launch, "launch", no_compiler)
    assert not works()
    monkeypatch.setattr(triton_launch, "launch", lambda *_: None)
    works.cache_clear()
    assert works()


def test_kernels_are_chosen_by_name(monkeypatch):
    monkeypatch.setattr(triton_launch, "INTERPRETED", False)
    monkeypatch.delenv("SWAP_KERNELS", raising=False)
    names = triton_launch.KERNELS

    def wanted():
        return {name for name in names if triton_launch.wanted(name)}

    assert wanted() == names
    for named, these in (("all", names), ("none", set()), ("loop, conv", {"loop", "conv"})):
        monkeypatch.setenv("SWAP_KERNELS", named)
        assert wanted() == these
    monkeypatch.setenv("SWAP_KERNELS", "hiden")
    with pytest.raises(UserError, match="did you mean 'hidden'"):
        triton_launch.wanted("hidden")
