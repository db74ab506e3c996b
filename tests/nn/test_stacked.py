"""Layers on both views in one tensor equal the layers on separate views, and are as exact."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from swap.nn import Butterfly, GRUCell, Linear, RMSNorm, StackedLinear
from swap.nn import stacked as j
from swap.nn.views import butterfly, views_of
from swap.symmetry import regular

FLY = Butterfly()
pairs = st.integers(1, 30)


@pytest.mark.parametrize("equivariant", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_joined_layer_is_the_layer(equivariant, bias):
    torch.manual_seed(0)
    layer = Linear(regular(6), regular(9), bias=bias, equivariant=equivariant).double()
    norm = RMSNorm(18, equivariant=equivariant).double()
    with torch.no_grad():
        norm.gain.normal_()
        if bias:
            layer.bias.normal_()
    x = torch.randn(7, 12, dtype=torch.float64)
    features, fly = views_of(x, equivariant), Butterfly(equivariant=equivariant).double()
    plain = butterfly(layer.parts(butterfly(features)))
    for expected, joined in (
        (plain, StackedLinear(layer)),
        (norm(plain), None if bias else StackedLinear(layer, norm)),
    ):
        if joined is not None:
            y = fly(joined(fly(j.split_views(x, equivariant)))).flatten(-2)
            assert torch.allclose(y, torch.cat(expected, -1), atol=1e-12)


def test_what_is_added_comes_before_the_norm():
    torch.manual_seed(0)
    here, there = (Linear(regular(4), regular(5), bias=False) for _ in range(2))
    norm, x, y = RMSNorm(10), torch.randn(3, 8), torch.randn(3, 8)
    both = [
        a + b
        for a, b in zip(
            here.parts(here.source.split(x)), there.parts(there.source.split(y)), strict=True
        )
    ]
    expected = torch.cat(norm(butterfly(tuple(both))), -1)
    add = j.stack_views(there.parts(there.source.split(y)))
    got = FLY(StackedLinear(here, norm)(FLY(j.split_views(x, True)), add)).flatten(-2)
    assert torch.allclose(got, expected, atol=1e-6)


def test_the_gradients_are_those_of_the_layer():
    torch.manual_seed(0)
    cell, x, h = GRUCell(6, 8).double(), *torch.randn(2, 5, 8, dtype=torch.float64).unbind(0)
    x = x[:, :6]
    expected = cell(x, h)
    both = torch.cat((j.split_views(x, True), j.split_views(h, True)), -1)
    gates = FLY(StackedLinear(cell.gates, cell.norm)(FLY(both)))
    got = j.pointwise(cell.gated, gates, j.split_views(h, True)).flatten(-2)
    assert torch.allclose(got, expected, atol=1e-12)
    seed = torch.randn_like(got)
    for a, b in zip(
        torch.autograd.grad(expected, list(cell.parameters()), seed),
        torch.autograd.grad(got, list(cell.parameters()), seed),
        strict=True,
    ):
        assert torch.allclose(a, b, atol=1e-12)


def test_butterfly_gradients():
    x = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(FLY, x)
    assert torch.equal(FLY(x)[:, 1], x[:, 0] - x[:, 1])
    one = torch.randn(3, 1, 4)
    assert Butterfly(equivariant=False)(one) is one


@given(st.integers(1, 40), pairs, pairs)
def test_exact_at_any_size(batch, d_in, d_out):
    layer, norm = Linear(regular(d_in), regular(d_out), bias=False), RMSNorm(2 * d_out)
    x, seed = torch.randn(batch, 2, d_in), torch.randn(batch, 2, d_out)

    def run(x, seed):
        y = j.pointwise(torch.nn.functional.silu, FLY(StackedLinear(layer, norm)(FLY(x))))
        return y.detach(), torch.autograd.grad(y, [*layer.parameters(), norm.gain], seed)

    y, gradients = run(x, seed)
    there, mirrored = run(x.flip(1), seed.flip(1))
    assert torch.equal(there, y.flip(1))
    assert all(torch.equal(a, b) for a, b in zip(gradients, mirrored, strict=True))
