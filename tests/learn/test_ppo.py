"""Losses and steps against a plain re-derivation, the adaptive rate, and the guard."""

import copy

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from swap.errors import UserError
from swap.learn import PPOCfg, Trainer
from toy_world import Toy, small


def ready(**ppo):
    """A trainer that has learned a little and holds a fresh rollout."""
    trainer = Trainer(small(**ppo), Toy(32))
    for _ in range(3):
        trainer.iterate()
    trainer.collector.collect(0.99, 0.95)
    return trainer


def drift(trainer):
    """Weights a bit away from those that acted, so that ratios differ from 1."""
    with torch.no_grad():
        for p in trainer.ppo.parameters:
            p.add_(0.03 * torch.randn(p.shape, generator=torch.Generator().manual_seed(0)))


def by_the_book(trainer, rows):
    """The losses of the valid rows among `rows`, from torch.distributions and boolean indexing."""
    roll, policy, clip = trainer.rollout, trainer.policy, trainer.cfg.ppo.clip
    rows = rows[roll.valid.flatten()[rows]]

    def flat(x):
        return x[: roll.steps].flatten(0, 1)[rows]

    old_std = policy.actor.rebuild(roll.mean, roll.std).std
    pi, old = policy.actor(flat(roll.inputs.actor)), Normal(flat(roll.mean), old_std)
    now = Normal(pi.mean, pi.std.expand_as(pi.mean))
    ratio = (now.log_prob(flat(roll.action)) - old.log_prob(flat(roll.action))).sum(-1).exp()
    advantage, target, before = flat(roll.advantage), flat(roll.returns), flat(roll.value)
    inside = ratio.clamp(1 - clip, 1 + clip)
    value = policy.critic(flat(roll.inputs.critic))
    slow = before + (value - before).clamp(-clip, clip)
    return {
        "policy_loss": -torch.min(ratio * advantage, inside * advantage).mean(),
        "value_loss": torch.max((value - target) ** 2, (slow - target) ** 2).mean(),
        "entropy": now.entropy().sum(-1).mean(),
        "kl": kl_divergence(old, now).sum(-1).mean(),
        "clipped": ((ratio - 1).abs() > clip).float().mean(),
    }


def test_losses_are_those_of_the_book_over_valid_steps():
    trainer = ready()
    assert not trainer.rollout.valid.all()
    drift(trainer)
    rows = torch.randperm(len(trainer.rollout))[:400]
    ours = trainer.ppo._losses(trainer.rollout.take(rows))
    book = by_the_book(trainer, rows)
    assert ours.keys() == book.keys()
    assert book["clipped"] > 0.05
    for name, x in book.items():
        assert float(ours[name].detach()) == pytest.approx(float(x.detach()), abs=2e-4), name


def test_a_step_is_adams_with_the_gradient_clipped():
    trainer = ready(desired_kl=None, max_grad_norm=0.2)
    drift(trainer)
    twin = copy.deepcopy(trainer)
    reference = torch.optim.Adam(twin.policy.parameters(), lr=1e-3, foreach=False)
    for p in twin.policy.parameters():
        state = trainer.ppo.adam.state[dict(trainer.policy.named_parameters())[name_of(twin, p)]]
        reference.state[p] = {key: x.clone() for key, x in state.items()}
    for seed in range(3):
        order = torch.randperm(len(trainer.rollout), generator=torch.Generator().manual_seed(seed))
        rows = order[: trainer.ppo.size]
        trainer.ppo.step(rows)
        book = by_the_book(twin, rows)
        loss = book["policy_loss"] + book["value_loss"] - 0.01 * book["entropy"]
        reference.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(twin.policy.parameters(), 0.2)
        assert norm > 0.2  # it was clipped
        reference.step()
    for name, p in twin.policy.named_parameters():
        ours = dict(trainer.policy.named_parameters())[name]
        assert torch.allclose(ours, p, atol=2e-5), name


def name_of(trainer, parameter):
    return next(name for name, p in trainer.policy.named_parameters() if p is parameter)


def test_advantages_are_normalised_over_valid_steps():
    roll = ready().rollout
    kept = roll.advantage[roll.valid]
    assert float(kept.mean()) == pytest.approx(0, abs=1e-5)
    assert float(kept.std()) == pytest.approx(1, abs=1e-5)
    assert (roll.advantage[~roll.valid] == 0).all()


def test_the_first_gradient_step_finds_the_policy_that_acted():
    """Stored inputs, densities and means belong together, though normalisers have moved on."""
    trainer = ready()
    losses = trainer.ppo._losses(trainer.rollout.take(torch.arange(len(trainer.rollout))))
    assert float(losses["kl"].detach()) == pytest.approx(0, abs=1e-6)
    assert float(losses["policy_loss"].detach()) == pytest.approx(0, abs=1e-5)
    assert float(losses["clipped"]) == 0


@pytest.mark.parametrize(
    ("kl", "before", "after"),
    [
        (0.03, 1e-3, 1e-3 / 1.5),
        (0.01, 1e-3, 1e-3),
        (0.001, 1e-3, 1.5e-3),
        (0.0, 1e-3, 1e-3),
        (0.03, 1.2e-5, 1e-5),
        (0.001, 9e-3, 1e-2),
        (float("nan"), 1e-3, 1e-3),
    ],
)
def test_the_rate_follows_the_kl(kl, before, after):
    ppo = Trainer(small(), Toy(32)).ppo
    ppo.lr.fill_(before)
    ppo._adapt(torch.tensor(kl), torch.tensor(True))
    assert float(ppo.lr) == pytest.approx(after)
    assert ppo.adam.lr is ppo.lr


def test_noise_is_brought_down_as_the_steps_go_by():
    cfg = PPOCfg(final_max_std=0.2, std_decay_steps=(1000, 2000))
    seen = [cfg.max_std_at(1.0, n) for n in (0, 1000, 1250, 2000, 5000)]
    assert seen == pytest.approx([1, 1, 0.8, 0.2, 0.2])
    assert PPOCfg().max_std_at(1.0, 10**9) == 1.0
    by_plan = PPOCfg(final_max_std=0.2, std_decay=(0.5, 0.75))
    assert [by_plan.max_std_at(1.0, n, 4000) for n in (2000, 2500, 3000)] == pytest.approx(
        [1, 0.6, 0.2]
    )
    assert by_plan.max_std_at(1.0, 10**9) == 1.0  # a run without an end

    trainer = ready(
        final_max_std=0.2, std_decay_steps=(0, 5000), entropy_coef=1.0
    )  # which would have it grow
    for _ in range(5):
        most = trainer.cfg.ppo.max_std_at(trainer.cfg.policy.max_std, trainer.steps)
        trainer.iterate()
        assert trainer.rollout.std.max() <= most + 1e-6
    assert trainer.steps > 5000
    assert trainer.rollout.std.tolist() == pytest.approx([0.2] * len(trainer.rollout.std))


def test_the_calm_follows_the_plan_until_it_has_begun():
    trainer = ready(final_max_std=0.2, std_decay=(0.5, 1.0))
    soon = 2 * (trainer.steps + len(trainer.rollout))
    trainer.plan(10 * soon)
    trainer.plan(soon)  # slower than it seemed: the plan is changed
    for _ in range(2):
        trainer.iterate()
    trainer.plan(10 * soon)  # the noise has begun to fall, so the plan is fixed
    assert trainer.planned == soon
    again = ready(final_max_std=0.2, std_decay=(0.5, 1.0))
    again.load_state_dict(trainer.state_dict(), trainer.numbers())
    assert again.planned == trainer.planned


def everything(trainer):
    return {
        name: x for name, x in trainer.state_dict().items() if name.startswith(("policy", "ppo"))
    }


@pytest.mark.parametrize(
    ("field", "culprit"), [("advantage", "policy_loss"), ("returns", "value_loss")]
)
def test_a_step_that_is_not_finite_changes_nothing_and_is_counted(field, culprit):
    trainer = ready()
    trainer.metrics.read()
    before = everything(trainer)
    getattr(trainer.rollout, field)[trainer.rollout.valid.nonzero()[0].unbind()] = torch.inf
    rows = torch.arange(trainer.ppo.size)
    trainer.ppo.step(rows)
    after = everything(trainer)
    for name, x in before.items():
        assert torch.equal(x, after[name]), name
    figures = trainer.metrics.read()
    assert figures["guard/skipped_updates"] == figures[f"guard/{culprit}"] == 1
    assert "ppo/policy_loss" not in figures  # no data, no figure
    trainer.ppo.step(rows + len(rows))  # good rows: learning goes on
    assert trainer.metrics.read()["guard/skipped_updates"] == 0
    assert not torch.equal(
        trainer.ppo.parameters[0], before["policy/actor.mlp.net.layers.0.weight.0"]
    )


class Broken(Toy):
    """Worlds 3 and 5 go bad at the 10th step."""

    count = 0

    def step(self, action):
        step, self.count = super().step(action), self.count + 1
        if self.count == 10:
            step.obs["senses"][3] = torch.nan
            step.obs["state"][3, 0] = torch.inf
            step.reward[5] = torch.nan
        return step


def test_bad_observations_and_rewards_are_named_and_left_out():
    trainer = Trainer(small(), Broken(32))
    figures = trainer.iterate()
    counts = {name: x for name, x in figures.items() if name.startswith("guard/") and x}
    assert counts == {"guard/obs.senses": 1, "guard/obs.state": 1, "guard/reward": 1}
    assert not trainer.rollout.valid[10, 3]
    assert not trainer.rollout.valid[9, 5]
    assert all(
        torch.isfinite(x).all() for x in trainer.state_dict().values() if x.is_floating_point()
    )
    counts = [x for name, x in trainer.iterate().items() if name.startswith("guard/")]
    assert not any(counts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minibatches": 7}, "do not divide into minibatches=7; use a divisor of 768"),
        ({"steps": 0}, "steps=0; use 1 or more"),
        ({"gamma": 1.5}, "gamma=1.5; it is a fraction"),
        ({"std_decay_steps": (2.0, 1.0)}, "std_decay_steps=.* must be a first and a later step"),
        ({"std_decay": (0.5, 2.0)}, "std_decay=.* must be a first and a later fraction"),
        ({"final_max_std": 9.0}, "final_max_std=9 must lie between the policy's min_std"),
        ({"lr": 1.0}, "lr=1.0 must lie in lr_range"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(UserError, match=message):
        Trainer(small(**change), Toy(32))


def test_the_defaults_are_the_designs():
    cfg = PPOCfg()
    assert (cfg.steps, cfg.epochs, cfg.minibatches, cfg.gamma, cfg.lam) == (24, 5, 4, 0.99, 0.95)
    assert (cfg.clip, cfg.entropy_coef, cfg.max_grad_norm, cfg.lr, cfg.desired_kl) == (
        0.2,
        0.01,
        1.0,
        1e-3,
        0.01,
    )
