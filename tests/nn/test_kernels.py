"""Triton kernels equal the layers they replace, run in double precision, and are equivariant to the
last bit. The tests run on a GPU, or interpreted on a CPU."""

import copy

import pytest
import torch

from swap.env import Spaces
from swap.nn import MLP, GRUCell, Linear, RunningNorm
from swap.policy.normalized_mlp import NormalizedMLP
from swap.symmetry import regular, trivial

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SPACES = Spaces()
PROP, ACTION, WIDE = SPACES.proprioception.rep, SPACES.action.rep, regular(5)
BATCH = 7


def shaken(module):
    """The module on the device, with noise added to every parameter."""
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return module.to(DEVICE)


def normal(*shape):
    return torch.randn(*shape, device=DEVICE)


def gradients(module, inputs, seed, **options):
    """The output, and the gradients of inputs and parameters."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    y = module(*inputs)
    return [y, *torch.autograd.grad(y, [*inputs, *module.parameters()], seed.to(y), **options)]


def compare(module, inputs, kernel, launched):
    """Compare results with the kernel to results in double precision without it."""
    plain = copy.deepcopy(module).double()
    with torch.no_grad():
        seed = torch.randn_like(plain(*(x.double() for x in inputs)))
    launched.clear()
    found = gradients(module, inputs, seed)
    assert kernel in launched
    launched.clear()
    wanted = gradients(plain, [x.double() for x in inputs], seed)
    assert not launched
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == torch.float32
        assert torch.allclose(a, b.float(), rtol=1e-4, atol=2e-5)


def mirrors(module, inputs, reps, rep_out, precision):
    """Check that f(mirror x) = mirror f(x) bit for bit, and the same for gradients."""
    bf16 = precision == "bf16"
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=bf16):
        seed = torch.randn_like(module(*inputs))
        here = gradients(module, inputs, seed)
        mirrored = [rep(x) for rep, x in zip(reps, inputs, strict=True)]
        there = gradients(module, mirrored, rep_out(seed))
    assert torch.isfinite(here[0]).all()
    assert torch.equal(there[0], rep_out(here[0]))
    for rep, a, b in zip(reps, here[1:], there[1:], strict=False):
        assert torch.equal(b, rep(a))
    for a, b in zip(here[1 + len(reps) :], there[1 + len(reps) :], strict=True):
        assert torch.equal(a, b)


NETS = {
    "regular": lambda eq: MLP(WIDE, (8, 12), WIDE, act="elu", equivariant=eq),
    "policy": lambda eq: MLP(PROP, (8, 12), ACTION, act="elu", equivariant=eq),
    "critic": lambda eq: MLP(PROP, (12,), trivial(1), act="tanh", equivariant=eq),
    "score": lambda eq: MLP(WIDE, (6, 4), trivial(1), act="relu", equivariant=eq),
    "features": lambda eq: MLP(PROP, (8, 6), act="silu", norm=True, equivariant=eq),
    "heights": lambda eq: MLP(WIDE, (10,), PROP, act="silu", norm=True, equivariant=eq),
}


@pytest.mark.parametrize("name", NETS)
def test_mlp(name, kernels):
    torch.manual_seed(0)
    mlp = shaken(NETS[name](True))
    compare(mlp, [normal(BATCH, mlp.rep_in.dim)], "hidden_kernels", kernels)


@pytest.mark.parametrize(
    ("name", "precision"),
    [*((name, "fp32") for name in NETS), *((name, "bf16") for name in ("policy", "features"))],
)
def test_mlp_is_exact(name, precision, kernels):
    torch.manual_seed(0)
    mlp = shaken(NETS[name](True))
    mirrors(mlp, [normal(BATCH, mlp.rep_in.dim)], [mlp.rep_in], mlp.rep_out, precision)
    assert "hidden_kernels" in kernels


def test_a_plain_network_with_norms(kernels):
    torch.manual_seed(0)
    compare(shaken(NETS["features"](False)), [normal(2, 3, PROP.dim)], "hidden_kernels", kernels)
    kernels.clear()
    shaken(NETS["policy"](False))(normal(BATCH, PROP.dim))
    assert not kernels  # without norms there is nothing to fuse


def test_more_rows_than_programs(kernels, monkeypatch):
    from swap.nn import fused_gates, fused_hidden

    monkeypatch.setattr(fused_hidden, "PROGRAMS", 3)
    monkeypatch.setattr(fused_gates, "PROGRAMS", 3)
    torch.manual_seed(0)
    compare(shaken(NETS["features"](True)), [normal(11, PROP.dim)], "hidden_kernels", kernels)
    compare(shaken(NETS["policy"](True)), [normal(11, PROP.dim)], "hidden_kernels", kernels)
    cell = shaken(GRUCell(6, 10))
    compare(cell, [normal(11, 6), normal(11, 10)], "gate_kernels", kernels)


def test_many_rows(kernels, monkeypatch):
    from swap.nn import fused_mlp

    monkeypatch.setattr(fused_mlp, "LONG", BATCH)
    torch.manual_seed(0)
    mlp = shaken(NETS["policy"](True))
    inputs = [normal(BATCH, PROP.dim)]
    compare(mlp, inputs, "hidden_kernels", kernels)
    mirrors(mlp, inputs, [PROP], ACTION, "fp32")
    test_a_penalty_on_the_gradient("elu", kernels)


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias, kernels):
    torch.manual_seed(0)
    layer = shaken(Linear(WIDE, regular(7), bias=bias))
    compare(layer, [normal(2, 3, WIDE.dim)], "hidden_kernels", kernels)
    mirrors(layer, [normal(BATCH, WIDE.dim)], [WIDE], regular(7), "fp32")


@pytest.mark.parametrize("equivariant", [True, False])
def test_gru(equivariant, kernels):
    torch.manual_seed(0)
    cell = shaken(GRUCell(6, 10, equivariant=equivariant))
    compare(cell, [normal(BATCH, 6), normal(BATCH, 10)], "gate_kernels", kernels)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_gru_is_exact(precision, kernels):
    torch.manual_seed(0)
    cell, reps = shaken(GRUCell(6, 10)), [regular(3), regular(5)]
    mirrors(cell, [normal(BATCH, 6), normal(BATCH, 10)], reps, regular(5), precision)
    assert "gate_kernels" in kernels


@pytest.mark.parametrize("act", ["relu", "elu"])
def test_a_penalty_on_the_gradient(act, kernels):
    torch.manual_seed(0)
    net = shaken(MLP(PROP, (8, 6), trivial(1), act=act))
    plain, x = copy.deepcopy(net).double(), normal(BATCH, PROP.dim)

    def penalty(net, x):
        parts = tuple(part.detach().requires_grad_() for part in net.split(x))
        score = net.from_parts(parts)
        slopes = torch.autograd.grad(score.sum(), parts, create_graph=True)
        loss = sum(slope.square().sum(-1).mean() for slope in slopes) + score.mean()
        return [loss.detach(), *torch.autograd.grad(loss, list(net.parameters()))]

    found, mirrored = penalty(net, x), penalty(net, PROP(x))
    assert "hidden_kernels" in kernels
    for a, b, there in zip(found, penalty(plain, x.double()), mirrored, strict=True):
        assert torch.allclose(a, b.float(), rtol=1e-4, atol=1e-5)
        assert torch.equal(a, there)


@pytest.mark.parametrize("equivariant", [True, False])
def test_observations_are_read_in_one_go(equivariant, kernels, monkeypatch):
    torch.manual_seed(0)
    rep = SPACES.privileged.rep
    net = NormalizedMLP(rep, (8, 6), ACTION, act="elu", out_gain=1.0, equivariant=equivariant).to(
        DEVICE
    )
    net.norm.update(2 * normal(50, rep.dim) + 1)
    x = 9 * normal(BATCH, rep.dim)  # some of it is clipped
    coordinates = net.coordinates(x)
    assert "fused_basis" in kernels
    assert coordinates.shape[-1] == net.width > rep.dim
    assert net.fused_split.part % 8 == 0
    y = net(coordinates)
    if equivariant:
        assert torch.equal(net(net.coordinates(rep(x))), ACTION(y))
    monkeypatch.setenv("SWAP_KERNELS", "none")
    assert net.width == rep.dim
    plain = net.coordinates(x)
    parts = zip(
        plain.split(net.net.layers[0].source.sizes, -1),
        coordinates.split(net.fused_split.part, -1),
        strict=True,
    )
    for a, b in parts:
        assert torch.allclose(a, b[:, : a.shape[-1]], atol=1e-6)
        assert not b[:, a.shape[-1] :].any()
    assert torch.allclose(net(plain), y, atol=1e-5)
    assert torch.allclose(net(coordinates), y, atol=1e-5)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("equivariant", [True, False])
def test_statistics(equivariant, masked, kernels, monkeypatch):
    torch.manual_seed(0)
    rep = SPACES.privileged.rep if equivariant else WIDE
    found, wanted, mirrored = (
        RunningNorm(rep, equivariant=equivariant).to(DEVICE) for _ in range(3)
    )
    for rows in (1, 70, 3):
        x = 3 * normal(rows, rep.dim) + torch.linspace(-2, 5, rep.dim, device=DEVICE)
        mask = torch.rand(rows, device=DEVICE) < 0.6 if masked else None
        if mask is not None:
            x[~mask] = torch.nan
        monkeypatch.setenv("SWAP_KERNELS", "all")
        found.update(x, mask)
        mirrored.update(rep(x), mask)
        assert kernels.count("fused_statistics") == 6
        kernels.clear()
        monkeypatch.setenv("SWAP_KERNELS", "none")
        wanted.update(x, mask)
        assert not kernels
        for a, b in zip(found.buffers(), wanted.buffers(), strict=True):
            assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)
        assert found.count == wanted.count
    if equivariant:
        assert torch.equal(found.coord_mean, mirrored.coord_mean)
        assert torch.equal(found.coord_var, mirrored.coord_var)
    nobody = torch.zeros(rows, dtype=torch.bool, device=DEVICE)
    before = [x.clone() for x in found.buffers()]
    monkeypatch.setenv("SWAP_KERNELS", "all")
    found.update(x, nobody)
    assert all(torch.equal(a, b) for a, b in zip(before, found.buffers(), strict=True))
