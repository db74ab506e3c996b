"""PPO's losses by a Triton kernel are those of the plain steps, with their gradients, and mirror
exactly. The tests run on a GPU, or interpreted on a CPU."""

from types import SimpleNamespace

import pytest
import torch

from swap.env import Spaces
from swap.learn import fused_ppo
from swap.learn.ppo import PPO, PPOCfg
from swap.learn.rollout import Batch
from swap.nn import GaussianHead
from swap.symmetry import signs

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SAMPLES = 150
ACTIONS = {"legs": Spaces().action.rep, "legs and a spine": Spaces().action.rep + signs(-1, 1)}


def made(rep, equivariant=True):
    """A PPO with only the parts that compute losses, a head, and samples, some of them not
    valid."""
    torch.manual_seed(0)
    head = GaussianHead(rep, init_std=0.5, equivariant=equivariant).to(DEVICE)
    with torch.no_grad():
        head.raw_std.add_(0.3 * torch.randn_like(head.raw_std))

    def normal(*shape):
        return torch.randn(SAMPLES, *shape, device=DEVICE)

    mean = normal(rep.dim)
    before = mean + 0.1 * normal(rep.dim)
    std = head.std_per_orbit.detach() * 1.1
    action = head(before).sample(normal(rep.dim)).detach()
    value = normal()
    batch = Batch(
        actor=normal(1),
        critic=normal(1),
        action=action,
        mean=before,
        log_prob=head(before).log_prob(action).detach() + 0.2 * normal(),
        value=value + 0.3 * normal(),
        advantage=normal(),
        returns=value + normal(),
        weight=(torch.rand(SAMPLES, device=DEVICE) < 0.8).float(),
    )
    past = SimpleNamespace(rebuild=lambda mean, std: head(mean).__class__(mean, std, head.orbits))
    ppo = SimpleNamespace(
        cfg=PPOCfg(), rollout=SimpleNamespace(std=std), policy=SimpleNamespace(actor=past)
    )
    ppo._fused = lambda *args: PPO._fused(ppo, *args)
    return ppo, head, batch, mean, value


def compared(ppo, head, batch, mean, value):
    """The losses, and the gradients of their total, of mean, value and std."""
    inputs = [mean.detach().requires_grad_(), value.detach().requires_grad_(), head.raw_std]
    losses = PPO._ppo_losses(ppo, batch, head(inputs[0]), inputs[1])
    return losses, torch.autograd.grad(PPO._total(ppo, losses), inputs)


@pytest.mark.parametrize("equivariant", [True, False])
@pytest.mark.parametrize("name", ACTIONS)
def test_the_kernel_is_its_steps(name, equivariant, kernels, monkeypatch):
    args = made(ACTIONS[name], equivariant)
    found, gradients = compared(*args)
    assert set(kernels) == {"ppo_kernels"}
    kernels.clear()
    monkeypatch.setenv("SWAP_KERNELS", "none")
    wanted, theirs = compared(*args)
    assert not kernels
    assert found.keys() == wanted.keys()
    assert 0.05 < wanted["clipped"] < 0.95
    for name, x in wanted.items():
        assert torch.allclose(found[name], x, rtol=1e-4), name
    for a, b in zip(gradients, theirs, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", ACTIONS)
def test_mirrored_samples_have_the_same_losses(name, kernels):
    rep = ACTIONS[name]
    ppo, head, batch, mean, value = made(rep)
    here, gradients = compared(ppo, head, batch, mean, value)
    mirrored = batch._replace(action=rep(batch.action), mean=rep(batch.mean))
    there, theirs = compared(ppo, head, mirrored, rep(mean), value)
    assert "ppo_kernels" in kernels
    for name, x in here.items():
        assert torch.equal(x, there[name]), name
    assert torch.equal(theirs[0], rep(gradients[0]))
    assert torch.equal(theirs[1], gradients[1])
    assert torch.equal(theirs[2], gradients[2])


def test_what_is_not_finite_is_told(kernels):
    ppo, head, batch, mean, value = made(ACTIONS["legs"])
    batch.advantage[3], batch.weight[3] = torch.nan, 1.0
    losses, gradients = compared(ppo, head, batch, mean, value)
    assert losses["policy_loss"].isnan()
    assert losses["value_loss"].isfinite()
    assert gradients[0].isnan().any()
    value[5], batch.weight[5] = torch.nan, 1.0
    losses, _ = compared(ppo, head, batch, mean, value)
    assert losses["value_loss"].isnan()


def test_tiles_need_not_be_full(kernels, monkeypatch):
    args = made(ACTIONS["legs"])
    here, _ = compared(*args)
    monkeypatch.setattr(fused_ppo, "TILE", 256)
    there, _ = compared(*args)
    for name, x in here.items():
        assert torch.allclose(x, there[name], rtol=1e-5), name
