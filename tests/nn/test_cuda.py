"""Fused kernels equal the operations they replace; skipped without a GPU."""

import pytest
import torch
import torch.nn.functional as F

from swap.nn.fused_norm import fits, norm_silu
from swap.nn.norm import ChannelNorm

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


@pytest.mark.parametrize(("batch", "channels", "side"), [(3, 16, 32), (700, 32, 16), (5, 256, 4)])
def test_fused_norm_is_norm_gain_and_silu(batch, channels, side):
    torch.manual_seed(0)
    shape = batch, channels, side, side
    x, dy = torch.randn(shape, device="cuda"), torch.randn(shape, device="cuda")
    gain = 1 + 0.3 * torch.randn(channels, device="cuda")
    inputs = x.requires_grad_(), gain.requires_grad_()
    assert fits(x, F.silu)
    norm = ChannelNorm(channels)
    want = F.silu(norm(x.double(), gain.double()))
    found = norm_silu(x, gain, norm.eps)
    assert torch.allclose(found, want.float(), rtol=1e-5, atol=1e-6)
    wanted = torch.autograd.grad(want, inputs, dy.double())
    for a, b in zip(torch.autograd.grad(found, inputs, dy), wanted, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-3)


def test_what_does_not_fit_is_left_to_plain_steps():
    x = torch.randn(2, 16, 4, 4, device="cuda")
    assert fits(x, F.silu)
    assert not fits(x.cpu(), F.silu)
    assert not fits(x, F.elu)
    assert not fits(x.bfloat16(), F.silu)
    assert not fits(x[:, :12], F.silu)
