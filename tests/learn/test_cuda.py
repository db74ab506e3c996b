"""Recorded inference and gradient steps on a real GPU; skipped without one."""

from dataclasses import replace

import pytest
import torch

import tiny_swap
import toy_model
from swap.learn import ModelCfg, ReplayBuffer, SymmetryCfg, Trainer
from swap.learn.latent_tracker import IMAGES, LatentTracker
from swap.learn.metrics import MetricAccumulator
from swap.learn.model_learner import ModelLearner
from swap.learn.symmetry_baselines import AugmentedModelLearner
from toy_world import ACTION, Toy, small

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


def trainer(*, capture, mirrored=False, kind=Trainer, n=512, told="none", **ppo):
    cfg = replace(small(**ppo), capture=capture, symmetry=SymmetryCfg(told))
    return kind(cfg, Toy(n, device="cuda", mirrored=mirrored))


@pytest.mark.parametrize("told", ["none", "loss", "augment"])
def test_recordings_do_what_the_calls_do(told):
    recorded, called = (
        trainer(capture=capture, told=told, equivariant=told == "none") for capture in (True, False)
    )
    for _ in range(2):
        figures, theirs = recorded.iterate(), called.iterate()
    assert recorded.ppo.step.enabled
    assert recorded.ppo.step._graph is not None
    assert not called.ppo.step.enabled
    for name in ("ppo/kl", "ppo/value_loss", "ppo/entropy", "rollout/reward"):
        assert figures[name] == pytest.approx(theirs[name], rel=2e-2, abs=1e-4), name
    for ours, p in zip(recorded.ppo.parameters, called.ppo.parameters, strict=True):
        assert torch.allclose(ours, p, atol=5e-3)
    assert recorded.ppo.adam.state[recorded.ppo.parameters[0]]["step"] == 40


def test_it_learns():
    learner = trainer(capture=True)
    figures = [learner.iterate() for _ in range(30)]
    assert figures[0]["return"] < 0.8
    assert figures[-1]["return"] > 3.3
    assert figures[-1]["time/update_s"] > 0


def test_the_guard_holds_inside_a_recording():
    learner = trainer(capture=True)
    learner.iterate()
    learner.collector.collect(0.99, 0.95)
    learner.metrics.read()
    before = [p.clone() for p in learner.ppo.parameters]
    learner.rollout.advantage.fill_(torch.nan)
    learner.ppo.step(torch.arange(learner.ppo.size, device="cuda"))
    assert all(torch.equal(a, b) for a, b in zip(before, learner.ppo.parameters, strict=True))
    assert learner.metrics.read()["guard/policy_loss"] == 1


def test_a_recording_survives_a_resume():
    first, second = (trainer(capture=True) for _ in range(2))
    for _ in range(2):
        first.iterate()
    second.iterate()
    second.load_state_dict({k: x.cpu() for k, x in first.state_dict().items()}, first.numbers())
    a, b = first.iterate(), second.iterate()
    for name in ("ppo/value_loss", "rollout/reward", "ppo/lr"):
        assert a[name] == pytest.approx(b[name], rel=1e-2), name


def test_what_learns_side_by_side_learns_the_same():
    """Policy, world model and discriminator: two streams against one, to the last bit."""
    model = replace(tiny_swap.CFG.model, overlap=True)
    trainer = replace(tiny_swap.CFG, worlds=64, model=model).build("cuda")
    for _ in range(6):  # all steps are recorded by then
        trainer.iterate()
    assert trainer.side.enabled
    state, numbers = trainer.state_dict(), trainer.numbers()
    learned = []
    for enabled in (True, False):
        trainer.load_state_dict(state, numbers)
        trainer.side.enabled = enabled
        trainer._learn()
        torch.cuda.synchronize()
        learned.append({name: x.clone() for name, x in trainer.learned().items()})
    assert any(not torch.equal(x, state[name]) for name, x in learned[0].items())
    for name, x in learned[0].items():
        assert torch.equal(x, learned[1][name]), name


class Reflected(Trainer):
    def noise(self):
        return ACTION.rep(super().noise())


def test_the_mirror_is_exact_in_tf32_too():
    here = trainer(capture=True)
    there = trainer(capture=True, mirrored=True, kind=Reflected)
    for _ in range(3):
        here.iterate()
        there.iterate()
    for a, b in zip(here.ppo.parameters, there.ppo.parameters, strict=True):
        assert torch.equal(a, b)


def seeing(device, *, capture, mirrored, augments, n=16):
    """Twelve ticks with latents of the mirrored worlds, and six gradient steps on them."""
    model = toy_model.build(equivariant=False, k=1).to(device)
    g, chance = torch.Generator().manual_seed(0), torch.Generator(device).manual_seed(0)
    place = torch.device(device)
    replay = ReplayBuffer(model, n, 12, place, mirrored=augments)
    widths = {"proprioception": 33, "body_heights": 286, "foot_heights": 100}

    def noise():
        return model.noise(n, like=torch.empty(0), generator=g).to(device)

    latent_tracker = LatentTracker(model, replay, noise, place, capture=capture, mirrored=mirrored)
    for t in range(12):
        obs = {
            name: (
                torch.randn(n, widths[name], generator=g)
                if name in widths
                else torch.rand(n, 16, 16, generator=g)
            ).to(device)
            for name in (*widths, *IMAGES)
        }
        every = torch.ones(n, dtype=torch.bool, device=device)
        latent_tracker.observe(obs, torch.full((n,), t == 0, device=device), every)
        latent_tracker.record(torch.randn(n, 12, generator=g).to(device))
    cfg = ModelCfg(net=model.cfg, batch=4, ticks=5, memory=12, warm_up=1, updates=6)
    make = AugmentedModelLearner if augments else ModelLearner
    learner = make(cfg, model, replay, MetricAccumulator(place), capture=capture)
    learner.update(chance)
    return latent_tracker, learner


@pytest.mark.parametrize(
    ("mirrored", "augments"), [("sampled", True), ("noiseless", False), ("noiseless", True)]
)
def test_latents_of_mirrored_worlds_are_recorded(mirrored, augments):
    kinds = {"mirrored": mirrored, "augments": augments}
    ours, recorded = seeing("cuda", capture=True, **kinds)
    theirs, called = seeing("cuda", capture=False, **kinds)
    assert len(ours.latents) == {"sampled": 2, "noiseless": 3}[mirrored]
    for work in (ours.reset, ours.tick, recorded.step):
        assert work._graph is not None
    for name, h in ours.latents.items():
        assert torch.allclose(h, theirs.latents[name], atol=1e-3), name
    for ours, p in zip(recorded.parameters, called.parameters, strict=True):
        assert torch.allclose(ours, p, atol=1e-3)
