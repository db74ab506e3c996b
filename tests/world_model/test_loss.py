"""Eq. 9 is compared with a computation by hand; tests where its gradients go, and what does not
count."""

import pytest
import torch
from torch.distributions import Categorical, Independent, kl_divergence

from swap.errors import UserError
from swap.world_model import LossCfg
from toy_model import build, gradients, latent, sequences


@pytest.mark.parametrize("equivariant", [True, False])
def test_9_the_loss_counted_by_hand(equivariant):
    cfg = LossCfg(depth=0.5, prop=2.0, body=3.0, foot=5.0, dyn=0.7, rep=0.2, free_nats=1.0)
    model = build(equivariant=equivariant, loss=cfg)
    batch, noise = sequences(model)
    loss, figures = model.loss(batch, noise)
    followed = model.observe(batch, noise)
    guess = model.decode(followed.latent)
    clean = batch.depth_clean / 255 - 0.5

    def z(logits):
        p = logits.unflatten(-1, (6, 5)).softmax(-1) * 0.99 + 0.01 / 5
        return Independent(Categorical(probs=p), 1)

    kl = kl_divergence(z(followed.posterior), z(model.rssm.prior(followed.latent.h)))
    terms = {
        "depth": (guess.depth - clean).square().sum((-1, -2)),
        "prop": (guess.prop - batch.prop.clamp(-5, 5)).square().sum(-1),
        "body": (guess.body - batch.body).square().sum(-1),
        "foot": (guess.foot - batch.foot).square().sum(-1),
        "kl": kl,
    }
    assert not batch.valid.all()
    for name, x in terms.items():
        assert torch.allclose(figures[name], x[batch.valid].mean(), rtol=1e-5), name
    kept = kl.clamp(min=1.0)[batch.valid].mean()
    expected = 0.9 * kept + sum(
        weight * terms[name][batch.valid].mean()
        for name, weight in (("depth", 0.5), ("prop", 2.0), ("body", 3.0), ("foot", 5.0))
    )
    assert torch.allclose(loss, expected, rtol=1e-5)
    assert not any(x.requires_grad for x in figures.values())


def by_part(model, loss):
    """The parts of the model that get gradients from a loss."""
    parts = {
        "prior": model.rssm.prior,
        "posterior": model.rssm.posterior,
        "encoder": model.encoder,
        "cell": model.rssm.cell,
        "decoder": model.decoder,
    }
    reached = set()
    for name, part in parts.items():
        found = torch.autograd.grad(
            loss, list(part.parameters()), retain_graph=True, allow_unused=True
        )
        if any(g is not None and g.abs().max() > 0 for g in found):
            reached.add(name)
    return reached


def only(**weights):
    none = dict.fromkeys(("depth", "prop", "body", "foot", "dyn", "rep"), 0.0)
    model = build(loss=LossCfg(**(none | {"free_nats": 0.0} | weights)))
    batch, noise = sequences(model, 2, 1)
    return by_part(model, model.loss(batch._replace(first=~batch.valid), noise)[0])


def test_dyn_teaches_the_prior_and_rep_the_posterior():
    assert only(dyn=1.0) == {"prior", "cell"}
    assert only(rep=1.0) == {"posterior", "encoder", "cell"}
    assert only(depth=1.0) == {"posterior", "encoder", "cell", "decoder"}
    assert only(body=1.0) == {"posterior", "encoder", "cell", "decoder"}


def test_free_nats_let_a_small_kl_be():
    assert only(dyn=1.0, free_nats=1e3) == set()
    assert only(rep=1.0, free_nats=1e3) == set()


GARBAGE = (float("nan"), float("inf"), 1e30)


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("where", ["inside", "at the start", "at the end"])
def test_ticks_that_are_not_valid_change_nothing(where, garbage):
    model = build()
    batch, noise = sequences(model, 3, 6, whole=True)
    hole = {"inside": slice(2, 4), "at the start": slice(0, 2), "at the end": slice(4, 6)}[where]
    valid = batch.valid.clone()
    valid[1, hole] = False
    batch = batch._replace(valid=valid)
    spoiled = {name: getattr(batch, name).clone() for name in batch._fields[:6]}
    for x in spoiled.values():
        x[1, hole] = garbage if x.is_floating_point() else 77
    context = batch.context
    if where == "at the start":
        context = type(context)(*(x.clone() for x in context))
        for x in context:
            x[1] = garbage
    loss, here = gradients(model, batch, noise)
    other, there = gradients(model, batch._replace(**spoiled, context=context), noise)
    assert torch.isfinite(loss)
    assert torch.equal(other, loss)
    assert all(torch.equal(there[name], here[name]) for name in here)
    filled, _ = gradients(model, batch._replace(valid=torch.ones_like(valid)), noise)
    assert not torch.equal(filled, loss)  # valid ticks do


def test_what_follows_a_hole_begins_anew():
    model = build()
    batch, noise = sequences(model, 2, 5, whole=True)
    valid = batch.valid.clone()
    valid[:, 1] = False
    first = batch.first.clone()
    first[:, 2] = True
    holed = model.observe(batch._replace(valid=valid), noise).latent
    begun = model.observe(batch._replace(valid=valid, first=first), noise).latent
    for a, b in zip(holed, begun, strict=True):
        assert torch.equal(a[:, 2:], b[:, 2:])


def test_nothing_valid_is_no_loss():
    model = build()
    batch, noise = sequences(model)
    loss, there = gradients(model, batch._replace(valid=torch.zeros_like(batch.valid)), noise)
    assert loss == 0
    assert all((g == 0).all() for g in there.values())


def test_wild_proprioception_is_bounded():
    model = build()
    batch, noise = sequences(model, whole=True)
    wild = batch._replace(prop=batch.prop * 1e6)
    assert model.loss(wild, noise)[1]["prop"] < 33 * 10**2


def test_the_context_counts():
    model = build()
    batch, noise = sequences(model, 2, 2, whole=True)
    context = latent(model, 2)
    a, b = (model.loss(batch._replace(context=c), noise)[0] for c in (batch.context, context))
    assert a != b


def test_mistakes_are_named():
    with pytest.raises(UserError, match=r"dyn=-1.0; use 0 or more"):
        LossCfg(dyn=-1.0)
