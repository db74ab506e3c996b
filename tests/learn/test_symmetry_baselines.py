"""The symmetry penalty and mirrored samples."""

from dataclasses import replace

import pytest
import torch
from torch.distributions import Normal

import tiny_swap
import toy_model
from swap.env import Spaces
from swap.errors import UserError
from swap.learn import AMPCfg, ModelCfg, ReplayBuffer, SymmetryCfg, Trainer
from swap.learn.metrics import MetricAccumulator
from swap.learn.symmetry_baselines import AugmentedAMP, AugmentedModelLearner
from toy_model import SPACES
from toy_world import ACTION, SENSES, STATE, Toy, small

OBS = STATE.rep + SENSES.rep
LOSS = SymmetryCfg("loss", actor=1.0, critic=1.0)
N = 5


def trainer_of(symmetry, *, equivariant=False, bold=False, **ppo):
    """`bold`: the actor's initial actions are large and not symmetric."""
    trainer = Trainer(replace(small(equivariant=equivariant, **ppo), symmetry=symmetry), Toy(32))
    if bold:
        with torch.no_grad():
            for p in trainer.policy.actor.mlp.net.out.parameters():
                p.mul_(50)
    return trainer


def raw(symmetry, **more):
    """A trainer with a rollout, whose normalisers leave everything as it is, and all its rows."""
    trainer = trainer_of(symmetry, bold=True, **more)
    trainer.policy.update_normalizers = lambda *_: None
    trainer.collector.collect(0.99, 0.95)
    roll = trainer.rollout
    assert not roll.valid.all()
    with torch.no_grad():  # the policy is no longer the one that acted
        for p in trainer.ppo.parameters:
            p.add_(0.03 * torch.randn(p.shape, generator=torch.Generator().manual_seed(0)))
    return trainer, roll.take(torch.arange(len(roll)))


def asymmetry(policy, obs):
    """Squared mirror errors of the mean action and of the value."""
    there, here = (policy.actor.mlp(x) for x in (OBS(obs), obs))
    values = policy.critic(OBS(obs)) - policy.critic(obs)
    return (there - ACTION.rep(here)).square().mean(-1), values.square()


# --- the penalty ----------------------------------------------------------------------------------
def test_an_equivariant_network_has_no_penalty_at_all():
    trainer = trainer_of(LOSS, equivariant=True, bold=True)
    for _ in range(2):
        figures = trainer.iterate()
        assert figures["ppo/asymmetry"] == figures["ppo/value_asymmetry"] == 0.0
    assert figures["ppo/entropy"] != 0


def test_a_symmetric_robot_that_sees_has_no_penalty_either():
    """Noise of its latent has no mirror image in a plain model; the penalty must not see it."""
    trainer = replace(tiny_swap.CFG, symmetry=LOSS).build("cpu")
    with torch.no_grad():
        for p in trainer.policy.actor.mlp.net.parameters():
            p.mul_(3)
    for _ in range(3):
        figures = trainer.iterate()
        assert figures["ppo/asymmetry"] == figures["ppo/value_asymmetry"] == 0.0
    roll = trainer.rollout
    assert roll.noiseless.actor.abs().max() > 0.1
    for read, noiseless in zip(roll.inputs, roll.noiseless, strict=True):
        assert not torch.equal(read, noiseless)  # the robot itself acts on what it drew


def test_a_plain_robot_that_sees_is_penalised_for_what_it_reads_without_noise():
    net = replace(tiny_swap.NET, equivariant=False)
    cfg = replace(
        tiny_swap.CFG,
        symmetry=SymmetryCfg("loss"),
        policy=replace(tiny_swap.CFG.policy, equivariant=False),
        model=replace(tiny_swap.CFG.model, net=net),
        amp=replace(tiny_swap.CFG.amp, equivariant=False),
    )
    trainer = cfg.build("cpu")
    trainer.iterate()
    batch, actor = trainer.rollout.take(torch.arange(12)), trainer.policy.actor.mlp
    apart = actor(batch.mirrored_actor) - SPACES.action.rep(actor(batch.noiseless_actor))
    mean = (batch.mean_weight * apart.square().mean(-1)).sum()
    got = trainer.ppo._losses(batch)["asymmetry"]
    torch.testing.assert_close(got, mean)
    assert got > 0


def test_the_penalty_is_the_formula_over_valid_samples():
    trainer, batch = raw(LOSS)
    assert torch.equal(batch.mirrored_actor, OBS(batch.actor))
    assert torch.equal(batch.mirrored_critic, OBS(batch.critic))
    losses = trainer.ppo._losses(batch)
    valid = trainer.rollout.valid.flatten()
    actor, critic = (x[valid].mean() for x in asymmetry(trainer.policy, batch.actor))
    torch.testing.assert_close(losses["asymmetry"], actor)
    torch.testing.assert_close(losses["value_asymmetry"], critic)
    assert min(actor, critic) > 1e-3
    plain = trainer_of(SymmetryCfg()).ppo
    more = trainer.ppo._total(losses) - plain._total(losses)
    torch.testing.assert_close(more, actor + critic)


def test_the_penalty_falls_and_both_ways_lead_to_a_symmetric_policy_that_learns():
    def trained(symmetry):
        trainer = trainer_of(symmetry, bold=True)
        figures = [trainer.iterate() for _ in range(12)]
        assert figures[-1]["return"] > 2 * figures[0]["return"]
        obs = trainer.env._observe()
        mirrored = {name: trainer.env.groups[name].rep(x) for name, x in obs.items()}
        apart = trainer.policy.mean(mirrored) - ACTION.rep(trainer.policy.mean(obs))
        return figures, float(apart.square().sum(-1).mean().detach())

    plain, untold = trained(SymmetryCfg())
    penalised, told = trained(SymmetryCfg("loss"))
    _, shown = trained(SymmetryCfg("augment"))
    seen = [row["ppo/asymmetry"] for row in penalised]
    assert seen[-1] < 0.1 * seen[0]
    assert told < 0.1 * untold
    assert shown < 0.5 * untold
    assert "ppo/value_asymmetry" not in penalised[0]  # the critic is free by default
    assert "ppo/asymmetry" not in plain[0]


# --- mirrored samples -----------------------------------------------------------------------------
def surrogate(policy, obs, action, batch, cfg):
    """PPO's loss of all samples, from torch.distributions; densities of the past as they were."""
    pi, valid = policy.actor(obs), batch.weight > 0
    now = Normal(pi.mean, pi.std.expand_as(pi.mean))
    ratio = (now.log_prob(action).sum(-1) - batch.log_prob).exp()
    near = ratio.clamp(1 - cfg.clip, 1 + cfg.clip)
    gain = torch.min(ratio * batch.advantage, near * batch.advantage)
    value = policy.critic(obs)
    slow = batch.value + (value - batch.value).clamp(-cfg.clip, cfg.clip)
    error = torch.max((value - batch.returns) ** 2, (slow - batch.returns) ** 2)
    bonus = cfg.entropy_coef * now.entropy().sum(-1)
    return (error - gain - bonus)[valid].mean()


def test_the_gradient_is_the_mean_of_those_of_the_batch_and_of_its_mirror_image():
    trainer, batch = raw(SymmetryCfg("augment"))
    ppo, policy = trainer.ppo, trainer.policy

    def gradient(loss):
        return torch.autograd.grad(loss, ppo.parameters)

    ours = gradient(ppo._total(ppo._losses(batch)))
    here = gradient(surrogate(policy, batch.actor, batch.action, batch, ppo.cfg))
    there = gradient(surrogate(policy, OBS(batch.actor), ACTION.rep(batch.action), batch, ppo.cfg))
    for own, a, b in zip(ours, here, there, strict=True):
        torch.testing.assert_close(own, (a + b) / 2, atol=1e-5, rtol=1e-4)
        assert not torch.allclose(a, b, atol=1e-3)


def test_the_rate_follows_the_samples_that_were_drawn():
    trainer, batch = raw(SymmetryCfg("augment"))
    losses = trainer.ppo._losses(batch)
    alone = trainer_of(SymmetryCfg()).ppo
    alone.policy, alone.rollout = trainer.policy, trainer.rollout
    for name in ("kl", "entropy", "clipped"):
        assert torch.equal(losses[name], alone._losses(batch)[name]), name
    assert losses["mirrored_clipped"] > losses["clipped"]  # a bold actor is far from symmetric


@pytest.mark.parametrize(("noise", "clipped"), [("none", False), ("sampled", True)])
def test_without_noise_no_mirrored_sample_of_a_symmetric_robot_is_clipped(noise, clipped):
    """Before the first gradient step all ratios are 1, unless noise of a latent moved them."""
    trainer = replace(tiny_swap.CFG, symmetry=SymmetryCfg("augment", noise=noise)).build("cpu")
    with torch.no_grad():
        for p in trainer.policy.actor.mlp.net.parameters():
            p.mul_(3)
    trainer.collector.collect(0.99, 0.95)
    batch = trainer.rollout.take(torch.arange(len(trainer.rollout)))
    losses = trainer.ppo._losses(batch)
    assert (losses["mirrored_clipped"] > 0) == clipped
    if clipped:
        assert batch.noiseless_actor is batch.noiseless_log_prob is None
        return
    pi = trainer.policy.actor(batch.noiseless_actor)
    wanted = Normal(pi.mean, pi.std.expand_as(pi.mean)).log_prob(batch.action).sum(-1)
    torch.testing.assert_close(batch.noiseless_log_prob, wanted)
    # The robot acts on what it drew.
    assert not torch.allclose(batch.noiseless_log_prob, batch.log_prob)
    mirrored = trainer.ppo.mirrored(batch)
    assert torch.equal(mirrored.log_prob, batch.noiseless_log_prob)
    trainer.iterate()


@pytest.mark.parametrize(("kind", "symmetric"), [("augment", True), ("loss", False)])
def test_normalisers_learn_from_mirrored_samples_if_those_are_samples(kind, symmetric):
    trainer = trainer_of(SymmetryCfg(kind), bold=True)
    trainer.iterate()
    norm = trainer.policy.actor.mlp.norm
    assert torch.allclose(norm.mean, OBS(norm.mean), atol=1e-5) == symmetric


def test_half_of_the_discriminators_samples_are_mirrored():
    frame = Spaces().layout("joint_pos", "lin_vel", "ang_vel", "joint_vel").rep
    expert, device = torch.randn(50, 2, frame.dim), torch.device("cpu")
    cfg = AMPCfg(batch=6, replay=64, hidden=(16,))
    amp = AugmentedAMP(cfg, expert, frame, N, 8, MetricAccumulator(device), capture=False)
    amp.store(torch.randn(N, 2, frame.dim), torch.ones(N, dtype=torch.bool))
    theirs, ours = torch.arange(6) + 7, torch.arange(6) % N
    wanted = expert[theirs], amp.ring.rows[ours]
    for got, rows in zip(amp._samples(theirs, ours), wanted, strict=True):
        rows = rows.view(6, 2, frame.dim)
        assert torch.equal(got[:3], rows[:3].flatten(1))
        assert torch.equal(got[3:], frame(rows[3:]).flatten(1))


def test_half_of_the_world_models_sequences_are_mirrored_and_begin_with_the_mirrored_latent():
    model, ticks = toy_model.build(equivariant=False), 3
    replay = ReplayBuffer(model, N, 8, torch.device("cpu"), mirrored=True)
    g = torch.Generator().manual_seed(3)
    batch, _ = toy_model.sequences(model, N, 8)
    latents = [[toy_model.latent(model, N, g) for _ in range(2)] for _ in range(8)]
    for t, pair in enumerate(latents):
        replay.store({x: y[:, t] for x, y in batch._asdict().items() if x != "context"}, *pair)
        replay.stored()
    cfg = ModelCfg(net=model.cfg, batch=4, ticks=ticks, memory=8)
    metrics = MetricAccumulator(torch.device("cpu"))
    learner = AugmentedModelLearner(cfg, model, replay, metrics, capture=False)
    worlds, starts = torch.tensor([0, 3, 2, 4]), torch.tensor([1, 3, 2, 1])
    got = learner._sequences(worlds, starts)
    plain = replay.take(worlds, starts, ticks)
    mirrored = toy_model.mirrored(model, plain)
    for name, x in got._asdict().items():
        if name != "context":
            assert torch.equal(x[:2], getattr(plain, name)[:2]), name
            assert torch.equal(x[2:], getattr(mirrored, name)[2:]), name
    for i, (world, start) in enumerate(zip(worlds, starts, strict=True)):
        before = latents[start - 1][i >= 2]  # the twin's for the mirrored half
        assert torch.equal(got.context.h[i], before.h[world].half().float())
        assert torch.equal(got.context.z[i], before.z[world])
    learner.step(worlds, starts, torch.randn(4, ticks, model.categoricals.dim, generator=g))
    assert torch.isfinite(torch.tensor(list(metrics.read().values()))).all()


# --- mistakes -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SymmetryCfg("los"), "unknown symmetry.kind 'los'; did you mean 'loss'"),
        (lambda: SymmetryCfg(noise="sample"), "unknown symmetry.noise .*'sampled'"),
        (lambda: SymmetryCfg(noise="none"), "noise=none needs symmetry.kind=augment"),
        (lambda: trainer_of(SymmetryCfg("augment", noise="none")), "needs a world model"),
        (lambda: SymmetryCfg("loss", actor=-1.0), "symmetry.actor=-1.0; use 0"),
        (lambda: SymmetryCfg("loss", actor=0.0), "does nothing; set symmetry.actor"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(UserError, match=message):
        make()


def test_half_of_an_odd_batch_is_refused():
    rep, device = ACTION.rep, torch.device("cpu")
    with pytest.raises(UserError, match=r"amp.batch=7 is odd; augment mirrors half of it, use 8"):
        AugmentedAMP(
            AMPCfg(batch=7),
            torch.zeros(3, 2, 3),
            rep,
            N,
            8,
            MetricAccumulator(device),
            capture=False,
        )
    with pytest.raises(UserError, match=r"model.batch=3 is odd"):
        AugmentedModelLearner(ModelCfg(batch=3), toy_model.build(), capture=False)


def test_without_it_nothing_is_mirrored_or_kept():
    trainer = trainer_of(SymmetryCfg())
    trainer.iterate()
    assert trainer.rollout.mirrored is None
    assert trainer.collector.mirrored_inputs is None
    assert type(trainer.ppo).__name__ == "PPO"
