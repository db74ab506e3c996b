"""The loop over the ticks by kernels of Triton: the latents and gradients of the plain steps, and
exact. On a GPU, or interpreted on a CPU."""

import pytest
import torch

from swap.world_model import Latent
from toy_model import build, gradients, mirrored, sequences

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


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
    batch, noise = on_device(*sequences(model, n=3, ticks=4))
    loss, found = gradients(model, batch, noise)
    latent = model.observe(batch, noise)
    assert {"fused_gates", "fused_draw", "fused_hidden"} <= set(kernels)
    kernels.clear()
    monkeypatch.setenv("SWAP_KERNELS", "none")
    plain, wanted = gradients(model, batch, noise)
    assert not kernels
    assert torch.allclose(loss, plain, rtol=1e-5)
    for name, gradient in wanted.items():
        size = float(gradient.abs().max())
        assert torch.allclose(found[name], gradient, rtol=1e-3, atol=1e-4 * size), name
    there = model.observe(batch, noise)
    for a, b in zip(latent.latent, there.latent, strict=True):
        assert torch.allclose(a, b, atol=1e-4)
    assert torch.allclose(latent.posterior, there.posterior, atol=1e-4)


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
    batch, noise = on_device(*sequences(model, n=3, ticks=4))
    here = model.observe(batch, noise)
    there = model.observe(mirrored(model, batch), model.categoricals.rep(noise))
    for a, b in zip(model.mirrored(here.latent), there.latent, strict=True):
        assert torch.equal(a, b)
    loss, found = gradients(model, batch, noise)
    other, theirs = gradients(model, mirrored(model, batch), model.categoricals.rep(noise))
    assert {"fused_gates", "fused_draw", "fused_hidden"} <= set(kernels)
    assert torch.equal(loss, other)
    for name, gradient in found.items():
        assert torch.equal(gradient, theirs[name]), name
