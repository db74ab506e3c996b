"""An agent reads the latent that LatentState holds, if there is a world model."""

import pytest
import torch

from swap.policy import Agent, LatentState, PolicyCfg, build_networks
from swap.world_model import WorldModelCfg
from toy_model import SMALL, K, observe, spec

N = 3
NOBODY = torch.zeros(N, dtype=torch.bool)
GROUPS = spec().groups


def made(reads, model=True):
    cfg = PolicyCfg(reads, ("command",), (16,), (16,))
    net = WorldModelCfg(**SMALL) if model else None
    nets = build_networks(cfg, net, spec(), seed=3)
    with torch.no_grad():  # a fresh actor hardly moves
        for p in nets.policy.actor.mlp.net.out.parameters():
            p.mul_(100)
    return nets


def observations(steps, seed=0):
    g = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        obs = {name: torch.randn(N, x.dim, generator=g) for name, x in GROUPS.items()}
        yield {**obs, "depth_noisy": torch.rand(N, 16, 16, generator=g)}


def test_without_a_world_model_it_is_the_mean():
    nets = made(("command", "body_heights"), model=False)
    agent = Agent(nets, N, "cpu")
    for obs in observations(3):
        assert torch.equal(agent.act(obs, NOBODY), nets.policy.mean(obs))
    assert not agent.ticked
    with pytest.raises(AssertionError, match="no camera to blank"):
        Agent(nets, N, "cpu", blind=True)


@pytest.mark.parametrize("blind", [False, True])
def test_with_one_it_reads_the_latent_of_every_observation_so_far(blind):
    nets = made(("command", "latent"))
    agent, rate = Agent(nets, N, "cpu", blind=blind), LatentState(nets.model, N, "cpu")
    code = nets.model.codec
    for t, obs in enumerate(observations(4 * K)):
        fresh = torch.arange(N) == 1 if t == 2 * K + 1 else NOBODY
        depth = torch.full((N, 16, 16), 0.5) if blind else code.from_linear(obs["depth_noisy"])
        ticked = observe(rate, depth, obs["proprioception"], fresh, None)
        expected = nets.policy.mean({**obs, "latent": rate.h})
        action = agent.act(obs, fresh)
        assert torch.equal(action, expected)
        assert agent.ticked == ticked == (t % K == 0)
        rate.record(expected)
    assert not action.requires_grad
    assert rate.h.abs().max() > 0.1


def test_eyes_change_what_it_does():
    nets = made(("command", "latent"))
    seeing, blind = (Agent(nets, N, "cpu", blind=b) for b in (False, True))
    for obs in observations(2 * K + 1):  # h depends on an image one tick later
        a, b = seeing.act(obs), blind.act(obs)
    assert not torch.allclose(a, b)


def test_first_weights_follow_from_the_seed_alone():
    torch.manual_seed(1)
    one = made(("command", "latent"))
    before = torch.random.get_rng_state()
    two = made(("command", "latent"))
    assert torch.equal(before, torch.random.get_rng_state())
    for a, b in zip(one, two, strict=True):
        for x, y in zip(a.parameters(), b.parameters(), strict=True):
            assert torch.equal(x, y)
