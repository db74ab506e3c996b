"""Compares latents and actions with torch.distributions, and checks the mistakes they refuse."""

import pytest
import torch
from torch.distributions import Categorical, Independent, Normal, kl_divergence

from swap.env import Spaces
from swap.errors import UserError
from swap.nn import Categoricals, GaussianHead

ACTION = Spaces().action.rep


@pytest.mark.parametrize("equivariant", [True, False])
def test_latent_densities(equivariant):
    torch.manual_seed(0)
    latent = Categoricals(6, 5, unimix=0.02, equivariant=equivariant)
    logits, other = torch.randn(2, 7, 30, dtype=torch.float64).unbind(0)

    def reference(x):
        p = x.unflatten(-1, (6, 5)).softmax(-1) * 0.98 + 0.02 / 5
        return Independent(Categorical(probs=p), 1)

    p, q = reference(logits), reference(other)
    assert torch.allclose(latent.kl(logits, other), kl_divergence(p, q))
    assert torch.allclose(latent.entropy(logits), p.entropy())
    z = latent.sample(logits, latent.noise(7, like=logits))
    classes = z.unflatten(-1, (6, 5)).argmax(-1)
    assert torch.allclose(latent.log_prob(logits, z), p.log_prob(classes))


def test_latent_samples_are_one_hot_follow_the_probabilities_and_pass_gradients():
    torch.manual_seed(0)
    latent = Categoricals(2, 4, unimix=0.0)
    logits = torch.randn(8, dtype=torch.float64, requires_grad=True)
    noise = latent.noise(40_000, like=logits)
    z = latent.sample(logits.expand(40_000, -1), noise).unflatten(-1, (2, 4))
    assert torch.equal(z.sum(-1), torch.ones_like(z[..., 0]))
    assert set(z.unique().tolist()) == {0.0, 1.0}
    probs = logits.unflatten(-1, (2, 4)).softmax(-1)
    assert torch.allclose(z.mean(0), probs, atol=0.01)
    weight = torch.randn(2, 4, dtype=torch.float64)
    (straight,) = torch.autograd.grad((z[0] * weight).sum(), logits, retain_graph=True)
    (through,) = torch.autograd.grad((probs * weight).sum(), logits)
    assert torch.allclose(straight, through)


def test_mode_is_the_likeliest():
    latent = Categoricals(2, 3)
    z = latent.mode(torch.tensor([0.0, 2, 1, 3, 0, 0]))
    assert z.tolist() == [0, 1, 0, 1, 0, 0]


def test_unimix_bounds_the_kl():
    latent = Categoricals(2, 4, unimix=0.01)
    sure, wrong = torch.full((8,), -1e4), torch.full((8,), -1e4)
    sure[[0, 4]] = 1e4
    wrong[[1, 5]] = 1e4
    assert torch.isfinite(latent.kl(sure, wrong))
    assert latent.kl(sure, wrong) < 2 * 6.1  # ln(1 / 0.0025) each


@pytest.mark.parametrize("equivariant", [True, False])
def test_gaussian_densities(equivariant):
    torch.manual_seed(0)
    head = GaussianHead(ACTION, equivariant=equivariant)
    head.raw_std.data.uniform_(-2, 2)
    mean, other, action = torch.randn(3, 9, 12).unbind(0)
    policy, old = head(mean), head(other)
    p, q = (Independent(Normal(m, policy.std.expand_as(m)), 1) for m in (mean, other))
    assert torch.allclose(policy.log_prob(action), p.log_prob(action), atol=1e-4)
    assert torch.allclose(policy.entropy(), p.entropy()[0], atol=1e-5)
    assert torch.allclose(policy.kl(old), kl_divergence(p, q), atol=1e-4)
    noise = torch.randn(9, 12)
    assert torch.allclose(policy.sample(noise), mean + policy.std * noise)


def test_std_is_tied_and_cannot_leave_its_bounds():
    head = GaussianHead(ACTION, init_std=0.8, min_std=0.1, max_std=1.5)
    assert head.raw_std.numel() == 6
    assert torch.allclose(head(torch.zeros(12)).std, torch.tensor(0.8))
    head.raw_std.data = torch.tensor([-1e9, 1e9, 0, 1, 2, 3])
    std = head(torch.zeros(12)).std.detach()
    assert torch.equal(abs(ACTION)(std), std)
    assert std.min() == pytest.approx(0.1)
    assert std.max() == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Categoricals(31, 32), "variables=31 is odd; .* use 32"),
        (lambda: Categoricals(32, 1), "classes=1 leaves no choice; use 2"),
        (lambda: Categoricals(unimix=1.0), "use 0 or more and less than 1"),
        (
            lambda: Categoricals(4, 4).kl(torch.zeros(15), torch.zeros(15)),
            r"need 16 logits, got 15",
        ),
        (lambda: GaussianHead(ACTION, init_std=3.0), "init_std=3.0 must lie between"),
        (lambda: GaussianHead(ACTION)(torch.zeros(11)), r"actions have 12 entries, the mean 11"),
    ],
)
def test_mistakes_name_the_fix(build, says):
    with pytest.raises(UserError, match=says):
        build()
