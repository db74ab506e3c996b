"""Triton convolutions equal torch's in double precision, and are equivariant to the last bit. The
tests run on a GPU, or interpreted on a CPU."""

import copy

import pytest
import torch

from swap.evaluate.layer_check import numerics
from swap.evaluate.layer_examples import flip_columns
from swap.nn import ConvDecoder, ConvTrunk, fused_conv
from swap.symmetry import regular

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZE, FEATURES, BATCH = (8, 12), regular(5), 3


def made(kind, *, norm=True, equivariant=True):
    torch.manual_seed(0)
    options = {"norm": norm, "equivariant": equivariant}
    net = (
        ConvTrunk(SIZE, (8, 12), ones=norm, **options)
        if kind == "trunk"
        else ConvDecoder(FEATURES, SIZE, (12, 8), **options)
    )
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.2 * torch.randn_like(p))
    shape = (1, *SIZE) if kind == "trunk" else (FEATURES.dim,)
    return net.to(DEVICE), torch.randn(BATCH, *shape, device=DEVICE)


def gradients(net, x, seed):
    """The output, and the gradients of the parameters and of the input."""
    x = x.detach().requires_grad_()
    y = net(x)
    return [y, *torch.autograd.grad(y, [*net.parameters(), x], seed.to(y))]


def seed_of(net, x):
    with torch.no_grad():
        return torch.randn_like(net(x))


@pytest.mark.parametrize(
    ("norm", "equivariant", "programs"),
    [(True, True, 512), (True, False, 3), (False, True, 3), (False, False, 512)],
)
@pytest.mark.parametrize("kind", ["trunk", "decoder"])
def test_convolutions(kind, norm, equivariant, programs, kernels, monkeypatch):
    """With few `programs` each has several turns."""
    monkeypatch.setattr(fused_conv, "PROGRAMS", max(programs, 4))
    net, x = made(kind, norm=norm, equivariant=equivariant)
    with numerics("fp32", DEVICE):
        seed = seed_of(net, x)
        kernels.clear()
        found = gradients(net, x, seed)
        assert sum(name.startswith("conv_") for name in kernels) > 6
        kernels.clear()
        wanted = gradients(copy.deepcopy(net).double(), x.double(), seed)
        assert not kernels
    for a, b in zip(found, wanted, strict=True):
        assert torch.allclose(a, b.float(), rtol=1e-4, atol=1e-4)


# On a CPU tf32 is fp32.
@pytest.mark.parametrize("precision", ["fp32", "bf16", *(["tf32"] if DEVICE == "cuda" else [])])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("kind", ["trunk", "decoder"])
def test_convolutions_are_exact(kind, norm, precision, kernels):
    net, x = made(kind, norm=norm)
    if kind == "trunk":
        rep_out = regular(net.features // 2)
        read, back = flip_columns, rep_out
    else:
        read, back = FEATURES, flip_columns
    with numerics(precision, DEVICE):
        seed = seed_of(net, x)
        here, other = gradients(net, x, seed), gradients(net, read(x), back(seed))
    assert "conv_kernels" in kernels
    assert torch.isfinite(here[0]).all()
    assert torch.equal(other[0], back(here[0]))
    for a, b in zip(here[1:-1], other[1:-1], strict=True):
        assert torch.equal(a, b)
    assert torch.equal(other[-1], read(here[-1]))


def test_what_does_not_fit_is_left_to_torch(kernels):
    net = ConvTrunk(SIZE, (8, 12), image_channels=2).to(DEVICE)
    net(torch.randn(2, 2, *SIZE, device=DEVICE))
    net = ConvTrunk(SIZE, (8, 12), act="elu").to(DEVICE)
    net(torch.randn(2, 1, *SIZE, device=DEVICE))
    assert "conv_kernels" not in kernels
