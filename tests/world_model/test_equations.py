"""The equations of section III-B, each on the model at its full size and bit for bit."""

import pytest
import torch

from swap.symmetry import regular
from toy_model import ACTION, BODY, FOOT, PROP, build, gradients, latent, mirrored, sequences

N = 5


@pytest.fixture(scope="module", params=["full", "small"])
def model(request):
    return build(full=request.param == "full")


@pytest.fixture(scope="module")
def seen(model):
    """depth, proprioception, actions, noise."""
    g = torch.Generator().manual_seed(3)
    depth = torch.rand(N, *model.image, generator=g) - 0.5
    prop, actions = torch.randn(N, 33, generator=g), torch.randn(N, model.k, 12, generator=g)
    return depth, prop, 4 * actions, model.noise(N, like=prop, generator=g)


def same(there, here):
    return all(torch.equal(a, b) for a, b in zip(there, here, strict=True))


def test_3_latents_swap_in_pairs_up_to_the_order(model):
    """F_l as the paper writes it: entries i (odd) and i + 1 trade places. Ours swaps halves."""
    h = torch.arange(float(model.cfg.deter))
    alternating = h.reshape(2, -1).T.flatten()  # left and right of each pair side by side
    swapped = alternating.reshape(-1, 2).flip(-1).flatten()
    there = model.latent_layout.rep(h).reshape(2, -1).T.flatten()
    assert torch.equal(there, swapped)


def test_4_encoder(model, seen):
    depth, prop, *_ = seen
    e = model.embed(depth, prop)
    there = model.embed(depth.flip(-1), PROP(prop))
    assert torch.equal(there, regular(e.shape[-1] // 2)(e))
    assert e.std() > 0.1


def test_5_recurrent_model(model, seen):
    _, _, actions, noise = seen
    state = latent(model, N)
    here = model.predict(state, actions, noise)
    there = model.predict(model.mirrored(state), ACTION(actions), model.categoricals.rep(noise))
    assert same(there, model.mirrored(here))
    assert not torch.equal(here.h, model.predict(state, -actions, noise).h)  # the actions do matter


def test_6_and_7_densities(model, seen):
    depth, prop, *_ = seen
    dist, state = model.categoricals, latent(model, N)
    other = model.mirrored(state)
    prior = dist.log_prob(model.rssm.prior(state.h), state.z)
    assert torch.equal(dist.log_prob(model.rssm.prior(other.h), other.z), prior)

    def posterior(state, depth, prop):
        logits = model.rssm.steps().posterior_logits(
            state.h, model.rssm.project_embedding(model.embed(depth, prop))
        )
        return dist.log_prob(logits, state.z)

    there = posterior(other, depth.flip(-1), PROP(prop))
    assert torch.equal(there, posterior(state, depth, prop))
    assert not torch.equal(there, prior)


@pytest.mark.parametrize("sampled", [True, False])
def test_a_tick_and_a_daydream_mirror(model, seen, sampled):
    depth, prop, actions, noise = seen
    first, state = torch.arange(N) < 2, latent(model, N)
    g = noise if sampled else None
    g_there = model.categoricals.rep(noise) if sampled else None
    here = model.tick(state, actions, model.embed(depth, prop), first, g)
    embedding = model.embed(depth.flip(-1), PROP(prop))
    there = model.tick(model.mirrored(state), ACTION(actions), embedding, first, g_there)
    assert same(there, model.mirrored(here))
    assert not (here.h[first].abs() > 0).any()
    assert (here.h[~first].abs() > 0).all()


def test_8_decoder(model):
    state = latent(model, N)
    here, there = model.decode(state), model.decode(model.mirrored(state))
    assert torch.equal(there.depth, here.depth.flip(-1))
    assert torch.equal(there.prop, PROP(here.prop))
    assert torch.equal(there.body, BODY(here.body))
    assert torch.equal(there.foot, FOOT(here.foot))
    assert [x.shape[1:] for x in here] == [model.image, (33,), (286,), (100,)]


def test_10_loss_and_gradients_are_those_of_the_mirrored_batch(model):
    batch, noise = sequences(model, 2, 5)
    loss, here = gradients(model, batch, noise)
    other, there = gradients(model, mirrored(model, batch), model.categoricals.rep(noise))
    assert torch.equal(other, loss)
    for name, gradient in here.items():
        assert torch.equal(there[name], gradient), name
        assert gradient.abs().max() > 0, name  # every parameter gets a gradient


def test_the_plain_twin_obeys_none_of_them():
    model = build(equivariant=False)
    batch, noise = sequences(model)
    loss, here = gradients(model, batch, noise)
    other, there = gradients(model, mirrored(model, batch), model.categoricals.rep(noise))
    assert abs(float(other - loss)) > 0.1
    assert not any(torch.allclose(there[name], here[name], rtol=1e-2) for name in here)
    depth, prop = torch.rand(N, 16, 16) - 0.5, torch.randn(N, 33)
    e = model.embed(depth, prop)
    assert not torch.allclose(
        model.embed(depth.flip(-1), PROP(prop)), regular(e.shape[-1] // 2)(e), atol=0.1
    )
    state = latent(model, N)
    depth = model.decode(state).depth
    assert not torch.allclose(model.decode(model.mirrored(state)).depth, depth.flip(-1), atol=0.1)
