"""Folding to plain layers gives the same function; a plain twin has the same widths."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import reps
from swap.evaluate.layer_check import n_parameters
from swap.evaluate.layer_examples import examples
from swap.nn import MLP, ConvTrunk, GRUCell, Linear
from swap.symmetry import trivial


@given(reps(), reps(), st.booleans())
def test_linear(rep_in, rep_out, equivariant):
    layer = Linear(rep_in, rep_out, equivariant=equivariant).double()
    layer.bias.data.normal_()
    x = torch.randn(6, rep_in.dim, dtype=torch.float64)
    plain = layer.dense()
    assert not plain.equivariant
    assert torch.allclose(plain(x), layer(x), atol=1e-12)


@given(reps(), reps(), st.booleans(), st.booleans())
def test_mlp(rep_in, rep_out, norm, with_out):
    mlp = MLP(rep_in, (8, 6), rep_out if with_out else None, norm=norm).double()
    for p in mlp.parameters():
        p.data.normal_()
    x = torch.randn(6, rep_in.dim, dtype=torch.float64)
    assert torch.allclose(mlp.dense()(x), mlp(x), atol=1e-10)


def test_gru():
    cell = GRUCell(6, 10).double()
    cell.norm.gain.data.uniform_(0.5, 2)
    x, h = torch.randn(4, 6, dtype=torch.float64), torch.randn(4, 10, dtype=torch.float64)
    assert torch.allclose(cell.dense()(x, h), cell(x, h), atol=1e-12)


def test_conv_trunk():
    trunk = ConvTrunk((16, 24), (8, 12)).double()
    x = torch.randn(2, 3, 1, 16, 24, dtype=torch.float64)
    assert trunk(x).shape == (2, 3, trunk.features)
    assert torch.allclose(trunk.dense()(x), trunk(x), atol=1e-12)


@pytest.mark.parametrize("example", examples(steps=2), ids=lambda e: e.name)
def test_twins_have_the_same_outputs_shapes_and_more_parameters(example):
    ours, twin = example.build(True), example.build(False)
    inputs = example.inputs(torch.float32, "cpu")
    with torch.no_grad():
        a, b = ours(*inputs), twin(*inputs)
    shapes = [[y.shape for y in (out if isinstance(out, tuple) else (out,))] for out in (a, b)]
    assert shapes[0] == shapes[1]
    assert n_parameters(ours) <= 0.51 * n_parameters(twin) or not n_parameters(twin)


def test_a_plain_twin_is_an_ordinary_network():
    mlp = MLP(trivial(5), (8, 8), trivial(2), equivariant=False)
    ordinary = torch.nn.Sequential(
        torch.nn.Linear(5, 8),
        torch.nn.ELU(),
        torch.nn.Linear(8, 8),
        torch.nn.ELU(),
        torch.nn.Linear(8, 2),
    )
    linears = [m for m in ordinary if isinstance(m, torch.nn.Linear)]
    for ours, theirs in zip([*mlp.layers, mlp.out], linears, strict=True):
        theirs.weight.data.copy_(ours.weight[0].data)
        theirs.bias.data.copy_(ours.bias.data)
    x = torch.randn(7, 5)
    assert torch.equal(mlp(x), ordinary(x))
