"""A fast agent does what the exact one does, up to rounding."""

import pytest
import torch

from swap.nn import MLP
from swap.policy import Agent, PolicyCfg, build_networks, fast_actor
from swap.world_model import WorldModelCfg, fast_tick
from toy_model import SMALL, K, spec

GROUPS = spec().groups


def made(equivariant, model=True):
    reads = ("history", "command") + (("latent",) if model else ())
    cfg = PolicyCfg(reads, ("command",), (24, 16), (16,), equivariant=equivariant)
    net = WorldModelCfg(**SMALL, equivariant=equivariant) if model else None
    nets = build_networks(cfg, net, spec(), seed=3)
    g = torch.Generator().manual_seed(1)
    for part in nets:
        if part is not None:
            part.requires_grad_(False)
            for p in part.parameters():  # gains and biases, too
                p.add_(0.3 * torch.randn(p.shape, generator=g))
    nets.policy.actor.mlp.norm.update(torch.randn(50, nets.policy.actor.mlp.rep_in.dim) * 3 + 1)
    return nets


def observations(n, steps, seed=0):
    g = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        obs = {name: 3 * torch.randn(n, x.dim, generator=g) for name, x in GROUPS.items()}
        yield {**obs, "depth_noisy": torch.rand(n, 16, 16, generator=g)}


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("equivariant", [True, False])
@pytest.mark.parametrize("model", [True, False])
def test_it_acts_as_the_exact_one_does(n, equivariant, model):
    nets = made(equivariant, model)
    exact, fast = (Agent(nets, n, "cpu", fast=x) for x in (False, True))
    for t, obs in enumerate(observations(n, 6 * K)):
        # A world that begins in the middle of a tick: its actions since then are not heard.
        fresh = torch.arange(n) == n - 1 if t == 2 * K + 1 else torch.zeros(n, dtype=torch.bool)
        a, b = exact.act(obs, fresh), fast.act(obs, fresh)
        assert torch.allclose(a, b, atol=1e-5, rtol=1e-5)
        if model:
            one, two = exact.latent_state, fast.latent_state
            assert torch.allclose(one.h, two.h, atol=1e-5)
            assert torch.equal(one.z, two.z)
            assert not fast.ticked or two.z.sum() == n * SMALL["variables"]
    assert a.abs().max() > 0.1


def test_new_weights_are_new_actions():
    nets = made(True)
    exact, fast = (Agent(nets, 1, "cpu", fast=x) for x in (False, True))
    for t, obs in enumerate(observations(1, 4 * K)):
        if t == K:
            old = fast.act(obs), exact.act(obs)
            assert torch.allclose(*old, atol=1e-5)
            for part in nets:
                for p in part.parameters():
                    p.mul_(1.5)
            continue
        assert torch.allclose(exact.act(obs), fast.act(obs), atol=2e-5, rtol=1e-5)


def test_networks_of_others_act_as_they_are():
    nets = made(True)
    assert fast_actor.usable(nets.policy)
    assert fast_tick.usable(nets.model)

    class Encoder(type(nets.model.encoder)):
        pass

    class Actor(torch.nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x) + 1

    net = nets.policy.actor.mlp.net
    assert isinstance(net, MLP)
    nets.model.encoder.__class__, nets.policy.actor.mlp.net = Encoder, Actor(net)
    assert not fast_actor.usable(nets.policy)
    assert not fast_tick.usable(nets.model)
    exact, fast = (Agent(nets, 1, "cpu", fast=x) for x in (False, True))
    for obs in observations(1, 2 * K):
        assert torch.equal(exact.act(obs), fast.act(obs))
