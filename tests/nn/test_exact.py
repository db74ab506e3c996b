"""Mirrored inputs give mirrored outputs to the last bit, for any Rep, shape and precision."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import reps
from swap.evaluate.layer_check import PRECISIONS, check_one, mirror, numerics
from swap.evaluate.layer_examples import examples
from swap.nn import MLP, Basis, Categoricals, ConvDecoder, ConvTrunk, GRUCell, Linear, RMSNorm
from swap.symmetry import regular

EXAMPLES = {example.name: example for example in examples(steps=60)}
batches = st.integers(1, 70)
widths = st.integers(1, 40).map(lambda n: 2 * n)
precisions = st.sampled_from(PRECISIONS)


def error(module, x, rep_in, rep_out, precision):
    """The largest |f(mirror x) - mirror f(x)|; zero means equal to the last bit, NaN stays NaN."""
    dtype = torch.float64 if precision == "fp64" else torch.float32
    with torch.no_grad(), numerics(precision, "cpu"):
        f, x = module.to(dtype), x.to(dtype)
        return float((f(rep_in(x)) - rep_out(f(x))).abs().max())


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_exact_forward_and_in_its_gradients(name):
    row = check_one(EXAMPLES[name], "cpu", PRECISIONS)
    assert row["exact"], row


def test_the_check_can_fail():
    """The same layers without the constraint are far from exact."""
    example = EXAMPLES["Linear prop 33 -> 512"]
    module = example.build(False)
    (x,) = example.inputs(torch.float32, "cpu")
    (mirrored,) = mirror(example, [x])
    assert (module(mirrored) - example.gives[0](module(x))).abs().max() > 0.1


@given(reps(), reps(), batches, precisions)
def test_linear(rep_in, rep_out, batch, precision):
    x = torch.randn(batch, rep_in.dim)
    assert error(Linear(rep_in, rep_out), x, rep_in, rep_out, precision) == 0


@given(reps(), reps(), widths, batches, st.booleans(), precisions)
def test_mlp(rep_in, rep_out, width, batch, norm, precision):
    mlp = MLP(rep_in, (width, width + 2), rep_out, norm=norm, act="tanh")
    assert error(mlp, torch.randn(batch, rep_in.dim), rep_in, rep_out, precision) == 0


@given(widths, widths, batches, precisions)
def test_gru(inputs, width, batch, precision):
    cell = GRUCell(inputs, width)
    rep_in = regular(inputs // 2) + cell.rep
    x = torch.randn(batch, rep_in.dim)

    class StackedLinear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = cell

        def forward(self, both):
            return self.cell(both[:, :inputs], both[:, inputs:])

    assert error(StackedLinear(), x, rep_in, cell.rep, precision) == 0


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), precisions)
def test_conv_trunk_and_decoder_at_any_size(rows, cols, batch, precision):
    dtype = torch.float64 if precision == "fp64" else torch.float32
    size = (4 * rows, 4 * cols)
    trunk = ConvTrunk(size, (6, 10)).to(dtype)
    decoder = ConvDecoder(trunk.rep, size, (10, 6)).to(dtype)
    x = torch.randn(batch, 1, *size, dtype=dtype)
    with torch.no_grad(), numerics(precision, "cpu"):
        features, mirrored = trunk(x), trunk(x.flip(-1))
        assert torch.equal(mirrored, trunk.rep(features))
        assert torch.equal(decoder(mirrored), decoder(features).flip(-1))


@given(st.integers(1, 6), st.integers(2, 9), batches, precisions)
def test_latents(pairs, classes, batch, precision):
    latent = Categoricals(2 * pairs, classes)
    dtype = torch.float64 if precision == "fp64" else torch.float32
    logits, other, like = (3 * torch.randn(batch, latent.dim, dtype=dtype) for _ in range(3))
    noise = latent.noise(batch, like=like)
    m = latent.rep
    with numerics(precision, "cpu"):
        assert torch.equal(latent.sample(m(logits), m(noise)), m(latent.sample(logits, noise)))
        assert torch.equal(latent.kl(m(logits), m(other)), latent.kl(logits, other))
        assert torch.equal(latent.entropy(m(logits)), latent.entropy(logits))


@given(widths, batches)
def test_norm(width, batch):
    norm = RMSNorm(width)
    left, right = torch.randn(2, batch, width // 2).unbind(0)
    a, b = norm((left, right))
    c, d = norm((right, left))
    assert torch.equal(a, d)
    assert torch.equal(b, c)


@given(reps(), batches)
def test_basis_round_trip_and_signs(rep, batch):
    basis, x = Basis(rep), torch.randn(batch, rep.dim, dtype=torch.float64)
    even, odd = basis.split(x)
    mirrored_even, mirrored_odd = basis.split(rep(x))
    assert torch.equal(mirrored_even, even)
    assert torch.equal(mirrored_odd, -odd)
    back = basis.merge((even, odd)) * basis.scale**2
    assert torch.allclose(back, x, rtol=0, atol=1e-14)


@settings(max_examples=25)
@given(reps())
def test_basis_gradients(rep):
    basis = Basis(rep)
    x = torch.randn(3, rep.dim, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(basis.split, x)
    assert torch.autograd.gradgradcheck(basis.split, x)
    parts = tuple(p.detach().requires_grad_() for p in basis.split(x))
    if all(p.numel() for p in parts):
        assert torch.autograd.gradcheck(lambda *p: basis.merge(p), parts)
        assert torch.autograd.gradgradcheck(lambda *p: basis.merge(p), parts)


@given(reps(), batches, st.booleans())
@settings(deadline=None)
def test_coordinates_are_the_parts_side_by_side(rep, rows, equivariant):
    basis, x = Basis(rep, equivariant=equivariant), torch.randn(rows, rep.dim)
    joined = torch.cat(basis.split(x), -1)
    assert torch.equal(basis.coordinates(x), joined)
    with torch.no_grad():
        assert torch.equal(basis.coordinates(x), joined)
