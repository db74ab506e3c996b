"""The loop over ticks with Triton kernels gives the latents and gradients of the plain steps, and
mirrors exactly. The tests run on a GPU, or interpreted on a CPU."""

import pytest
import torch

from swap.world_model import Latent, LossCfg
from swap.world_model.decoder import Reconstruction
from toy_model import build, gradients, mirrored, sequences

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUGH = 100 if DEVICE == "cuda" else 1
"""Convolutions on a GPU (TF32) use 10 bits of each factor."""


def on_device(batch, noise):
    context = Latent(*(x.to(DEVICE) for x in batch.context))
    return type(batch)(*(x.to(DEVICE) for x in batch[:-1]), context), noise.to(DEVICE)


def made(**options):
    model = build(**options).to(DEVICE)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model


@pytest.mark.parametrize("equivariant", [True, False])
def test_the_loop_is_its_steps(equivariant, kernels, monkeypatch):
    model = made(equivariant=equivariant)
    batch, noise = on_device(*sequences(model, n=2, ticks=3))
    loss, found = gradients(model, batch, noise)
    latent = model.observe(batch, noise)
    assert {"gate_kernels", "fused_draw", "hidden_kernels", "loss_kernels"} <= set(kernels)
    kernels.clear()
    monkeypatch.setenv("SWAP_KERNELS", "none")
    plain, wanted = gradients(model, batch, noise)
    assert not kernels
    assert torch.allclose(loss, plain, rtol=1e-5 * ROUGH)
    for name, gradient in wanted.items():
        size = float(gradient.abs().max())
        assert torch.allclose(found[name], gradient, rtol=1e-3, atol=1e-4 * ROUGH * size), name
    there = model.observe(batch, noise)
    for a, b in zip(latent.latent, there.latent, strict=True):
        assert torch.allclose(a, b, atol=1e-4 * ROUGH)
    assert torch.allclose(latent.posterior, there.posterior, atol=1e-4 * ROUGH)


def test_a_tick_is_a_tick(kernels, monkeypatch):
    model = made()
    batch, noise = on_device(*sequences(model, n=3, ticks=2))
    embedding = model.embed(model.codec.from_bytes(batch.depth_noisy), batch.prop)[:, 0]
    args = batch.context, batch.actions[:, 0], embedding, batch.first[:, 0]
    for chance in (noise[:, 0], None):
        monkeypatch.setenv("SWAP_KERNELS", "all")
        with torch.no_grad():
            new = model.tick(*args, chance)
        assert "fused_draw" in kernels
        monkeypatch.setenv("SWAP_KERNELS", "none")
        for a, b in zip(new, model.tick(*args, chance), strict=True):
            assert torch.allclose(a, b, atol=1e-5)


def test_the_mirror_is_exact(kernels):
    model = made()
    batch, noise = on_device(*sequences(model, n=2, ticks=3))
    here = model.observe(batch, noise)
    there = model.observe(mirrored(model, batch), model.categoricals.rep(noise))
    for a, b in zip(model.mirrored(here.latent), there.latent, strict=True):
        assert torch.equal(a, b)
    loss, found = gradients(model, batch, noise)
    other, theirs = gradients(model, mirrored(model, batch), model.categoricals.rep(noise))
    assert {"gate_kernels", "fused_draw", "hidden_kernels"} <= set(kernels)
    assert torch.equal(loss, other)
    for name, gradient in found.items():
        assert torch.equal(gradient, theirs[name]), name


@pytest.mark.parametrize("equivariant", [True, False])
def test_the_loss_is_its_steps(equivariant, kernels, monkeypatch):
    cfg = LossCfg(depth=0.5, prop=2.0, body=3.0, foot=5.0, dyn=0.7, rep=0.2, free_nats=1.5)
    model = made(equivariant=equivariant, loss=cfg)
    batch, noise = on_device(*sequences(model, n=3, ticks=4))
    data = batch.cleaned()
    assert not data.valid.all()
    g = torch.Generator().manual_seed(0)
    shapes = [x.shape for x in (data.depth_clean, data.prop, data.body, data.foot, noise, noise)]
    told = [torch.randn(shape, generator=g).to(DEVICE).requires_grad_() for shape in shapes]
    target = model.codec.from_bytes(data.depth_clean), data.prop, data.body, data.foot
    target = Reconstruction(*target)

    def weighed():
        guess = Reconstruction(*told[:4])
        loss, figures = model.criterion(guess, target, *told[4:], data.valid)
        return loss, figures, torch.autograd.grad(2 * loss, told)

    kernels.clear()
    loss, figures, found = weighed()
    assert set(kernels) == {"loss_kernels"}
    monkeypatch.setenv("SWAP_KERNELS", "none")
    plain, wanted, theirs = weighed()
    assert torch.allclose(loss, plain, rtol=1e-5 * ROUGH)
    for name, x in wanted.items():
        assert torch.allclose(figures[name], x, rtol=1e-4), name
    for a, b in zip(found, theirs, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-6)
