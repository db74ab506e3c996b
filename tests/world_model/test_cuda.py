"""A training step recorded as a CUDA graph, in TF32; skipped without a GPU."""

import pytest
import torch

from swap.evaluate.layer_check import numerics
from swap.policy import LatentState
from toy_model import ACTION, PROP, build, mirrored, observe, sequences

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


def on_gpu(batch):
    context = type(batch.context)(*(x.cuda() for x in batch.context))
    return type(batch)(*(x.cuda() for x in batch[:-1]), context)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_loss_and_gradients_mirror_bit_for_bit(precision):
    model = build(full=True)
    batch, noise = sequences(model, 4, 8)
    other = on_gpu(mirrored(model, batch)), model.categoricals.rep(noise).cuda()
    model, batch, noise = model.cuda(), on_gpu(batch), noise.cuda()
    parameters = list(model.parameters())
    with numerics(precision, "cuda"):
        loss, _ = model.loss(batch, noise)
        here = torch.autograd.grad(loss, parameters)
        there_loss, _ = model.loss(*other)
        there = torch.autograd.grad(there_loss, parameters)
    assert torch.equal(loss, there_loss)
    assert all(torch.equal(a, b) for a, b in zip(here, there, strict=True))


def test_a_recorded_step_is_the_step():
    model = build(full=True)
    batch, noise = sequences(model, 4, 8)
    model, batch, noise = model.cuda(), on_gpu(batch), noise.cuda()
    parameters = list(model.parameters())

    def step():
        loss, figures = model.loss(batch, noise)
        return figures, torch.autograd.grad(loss, parameters)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            figures, gradients = step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded, recorded_gradients = step()
    graph.replay()
    for name, x in figures.items():
        assert torch.allclose(recorded[name], x, rtol=1e-3), name
    for a, b in zip(recorded_gradients, gradients, strict=True):
        assert torch.allclose(a, b, rtol=1e-2, atol=1e-3 * float(b.abs().max()))


def test_a_recorded_tick_beside_eager_resets():
    n, model = 64, build(full=True).cuda()
    rates = [LatentState(model, n, "cuda") for _ in range(2)]
    g = torch.Generator().manual_seed(0)
    depth, prop = torch.zeros(n, 64, 64).cuda(), torch.zeros(n, 33).cuda()
    noise = torch.zeros(n, 1024).cuda()
    called, recorded = rates
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            recorded.tick(depth, prop, noise)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded.tick(depth, prop, noise)
    recorded.load_state_dict({k: x.clone() for k, x in called.state_dict().items()})
    for _ in range(12):
        depth.copy_(torch.rand(n, 64, 64, generator=g) - 0.5)
        prop.copy_(torch.randn(n, 33, generator=g))
        fresh = (torch.rand(n, generator=g) < 0.1).cuda()
        observe(called, depth, prop, fresh, noise)
        recorded.clock.observe(fresh, recorded.reset, graph.replay)
        assert torch.allclose(called.h, recorded.h, atol=1e-3)
        action = torch.randn(n, 12, generator=g).cuda()
        for rate in rates:
            rate.record(action)
    assert called.h.abs().max() > 0


def test_a_tick_mirrors_bit_for_bit_in_tf32():
    n, model = 100, build(full=True).cuda()
    g = torch.Generator().manual_seed(0)
    rates = [LatentState(model, n, "cuda") for _ in range(2)]
    nobody = torch.zeros(n, dtype=torch.bool, device="cuda")
    with numerics("tf32", "cuda"):
        for _ in range(20):
            depth, prop = torch.rand(n, 64, 64, generator=g) - 0.5, torch.randn(n, 33, generator=g)
            noise, action = model.noise(n, like=prop, generator=g), torch.randn(n, 12, generator=g)
            here = depth, prop, noise, action
            there = depth.flip(-1), PROP(prop), model.categoricals.rep(noise), ACTION(action)
            for rate, (d, p, z, a) in zip(rates, (here, there), strict=True):
                observe(rate, d.cuda(), p.cuda(), nobody, z.cuda())
                rate.record(a.cuda())
            assert torch.equal(model.latent_layout.rep(rates[0].h), rates[1].h)
    assert rates[0].h.abs().max() > 0
