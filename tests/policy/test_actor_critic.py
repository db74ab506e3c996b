"""Mirrored observations give mirrored actions and the same values and gradients, bit for bit."""

import pytest
import torch

from swap.env import Spaces
from swap.errors import UserError
from swap.policy import ActorCritic, PolicyCfg

SPACES = Spaces()
GROUPS = {
    "history": SPACES.actor_history,
    "command": SPACES.command,
    "privileged": SPACES.privileged,
    "body_heights": SPACES.layout("body_heights"),
}
ACTION = SPACES.action.rep


def build(*, equivariant=True, **more):
    torch.manual_seed(0)
    cfg = PolicyCfg(actor_hidden=(64, 32), critic_hidden=(48, 16), equivariant=equivariant, **more)
    policy = ActorCritic(cfg, GROUPS, ACTION)
    policy.update_normalizers(observations(200, seed=1))
    with torch.no_grad():  # untrained networks have small gains and outputs near zero
        for p in policy.actor.mlp.net.out.parameters():
            p.mul_(100)
        for p in policy.critic.mlp.net.out.parameters():
            p.mul_(10)
    return policy


def observations(n, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(n, layout.dim, generator=generator) * 3 + 0.5
        for name, layout in GROUPS.items()
    }


def mirrored(obs):
    return {name: GROUPS[name].rep(x) for name, x in obs.items()}


def gradients(policy, obs, action):
    loss = policy.distribution(obs).log_prob(action).mean() + policy.value(obs).square().mean()
    return torch.autograd.grad(loss, list(policy.parameters()))


@pytest.mark.parametrize("n", [1, 7, 64])
def test_everything_is_exact_in_the_mirror(n):
    policy, obs, noise = build(), observations(n), torch.randn(n, ACTION.dim)
    there = mirrored(obs)
    action = policy.act(obs, noise).detach()
    assert torch.equal(policy.mean(there), ACTION(policy.mean(obs)))
    assert torch.equal(policy.act(there, ACTION(noise)), ACTION(action))
    assert torch.equal(policy.value(there), policy.value(obs))
    assert policy.value(obs).shape == (n,)
    density = policy.distribution(obs).log_prob(action)
    assert torch.equal(policy.distribution(there).log_prob(ACTION(action)), density)
    pairs = zip(
        gradients(policy, obs, action), gradients(policy, there, ACTION(action)), strict=True
    )
    assert all(torch.equal(a, b) for a, b in pairs)


def test_the_plain_twin_is_not():
    policy, obs = build(equivariant=False), observations(16)
    assert not torch.allclose(policy.mean(mirrored(obs)), ACTION(policy.mean(obs)), atol=0.1)
    assert not torch.allclose(policy.value(mirrored(obs)), policy.value(obs), atol=0.1)


def test_the_first_mean_actions_are_small_and_the_noise_is_not():
    policy, obs = ActorCritic(PolicyCfg(), GROUPS, ACTION), observations(100)
    assert policy.mean(obs).abs().max() < 0.1
    assert torch.allclose(policy.distribution(obs).std, torch.ones(12))


@pytest.mark.parametrize("equivariant", [True, False])
def test_inputs_lead_to_the_same_distribution_and_value(equivariant):
    policy, obs = build(equivariant=equivariant), observations(9)
    inputs = policy.inputs(obs)
    assert tuple(x.shape[-1] for x in inputs) == policy.widths == (499, 559)
    assert torch.allclose(policy.actor(inputs.actor).mean, policy.mean(obs), atol=1e-5)
    assert torch.allclose(policy.critic(inputs.critic), policy.value(obs), atol=1e-5)


def test_normalisers_see_valid_rows_only_and_survive_nan():
    obs, valid = observations(50), torch.rand(50) < 0.6
    spoiled = {name: torch.where(valid[:, None], x, torch.nan) for name, x in obs.items()}
    here, there = (ActorCritic(PolicyCfg(), GROUPS, ACTION) for _ in range(2))
    here.update_normalizers({name: x[valid] for name, x in obs.items()})
    there.update_normalizers(spoiled, valid)
    there.update_normalizers(spoiled, torch.zeros_like(valid))  # nothing valid, nothing learned
    kept = {name: x for name, x in here.state_dict().items() if ".norm." in name}
    assert len(kept) == 10
    for name, x in kept.items():
        assert torch.allclose(x, there.state_dict()[name], rtol=1e-5, atol=1e-6), name


def test_a_mirrored_life_gives_the_same_normalisers():
    here, there = build(), build()
    obs, valid = observations(33), torch.rand(33) < 0.5
    here.update_normalizers(obs, valid)
    there.update_normalizers(mirrored(obs), valid)
    for name, x in here.state_dict().items():
        assert torch.equal(x, there.state_dict()[name]), name


def test_half_the_parameters_of_the_plain_twin():
    ours, twin = (build(equivariant=eq).n_parameters for eq in (True, False))
    for name in ("actor", "critic"):
        assert ours[name] / twin[name] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("cfg", "message"),
    [
        ({"actor_reads": ("histroy",)}, "unknown observation group 'histroy'; did you mean"),
        ({"actor_reads": ("xyz",)}, "known: .*; env.observations adds others"),
        ({"critic_reads": ()}, "critic_reads is empty"),
        ({"actor_reads": ("command", "command")}, "names a group twice"),
        ({"init_std": 3.0}, "init_std=3.0 must lie between"),
        ({"init_std": 0.4, "max_std": 0.4}, "init_std=0.4 must lie between"),
        ({"actor_hidden": (31,)}, "use 32"),
    ],
)
def test_mistakes_are_named(cfg, message):
    with pytest.raises(UserError, match=message):
        ActorCritic(PolicyCfg(**cfg), GROUPS, ACTION)
