"""Training is equivariant: runs on data and on mirrored data end in the same bits."""

import pytest
import torch

from swap.env import Spaces
from swap.evaluate.layer_examples import ToyAgent
from swap.nn import MLP, Categoricals, ConvDecoder, ConvTrunk, GaussianHead, GRUCell, Linear
from swap.symmetry import regular

SPACES = Spaces()


class Model(torch.nn.Module):
    """Passes depth and proprioception through encoder, GRU, latents, decoder and actor."""

    def __init__(self):
        super().__init__()
        prop, act = SPACES.proprioception.rep, SPACES.action.rep
        self.trunk = ConvTrunk((16, 16), (8, 16))
        self.latent = Categoricals(4, 6)
        self.encoder = MLP(prop + self.trunk.rep, (32,), act="silu", norm=True)
        self.cell = GRUCell(32, 24)
        self.posterior = Linear(self.cell.rep, self.latent.rep)
        self.prior = Linear(self.cell.rep, self.latent.rep)
        both = self.cell.rep + self.latent.rep
        self.image = ConvDecoder(both, (16, 16), (16, 8))
        self.actor, self.head = MLP(both, (32, 16), act), GaussianHead(act)

    def loss(self, image, prop, noise, action):
        h, total = prop.new_zeros(prop.shape[1], 24), 0.0
        for t in range(len(prop)):
            seen = torch.cat((prop[t], self.trunk(image[t])), -1)
            h = self.cell(self.encoder(seen), h)
            logits = self.posterior(h)
            features = torch.cat((h, self.latent.sample(logits, noise[t])), -1)
            policy = self.head(self.actor(features))
            pixels = (self.image(features) - image[t]).square()
            # The two halves of an image are summed separately, then added: an invariant loss.
            left, right = pixels[..., :8], pixels[..., 8:].flip(-1)
            left, right = left.flatten(1).sum(-1), right.flatten(1).sum(-1)
            kl = self.latent.kl(logits, self.prior(h))
            total = total + (left + right).mean() + kl.mean() - policy.log_prob(action[t]).mean()
        return total


def train(mirrored: bool, steps: int = 25) -> tuple[list[float], dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    model = Model()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator, losses = torch.Generator().manual_seed(1), []
    prop_rep, act, z = SPACES.proprioception.rep, SPACES.action.rep, model.latent.rep
    for _ in range(steps):
        image = torch.rand(3, 10, 1, 16, 16, generator=generator)
        prop = torch.randn(3, 10, prop_rep.dim, generator=generator)
        noise = torch.randn(3, 10, z.dim, generator=generator)
        action = torch.randn(3, 10, act.dim, generator=generator)
        if mirrored:
            image, prop, noise, action = image.flip(-1), prop_rep(prop), z(noise), act(action)
        loss = model.loss(image, prop, noise, action)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses, model.state_dict()


def test_25_adam_steps_on_mirrored_data_end_in_the_same_parameters():
    (losses, state), (mirrored_losses, mirrored_state) = train(False), train(True)
    assert losses == mirrored_losses
    for name, value in state.items():
        assert torch.equal(value, mirrored_state[name]), name
    assert losses[-1] < losses[0] - 1  # it did learn


def test_a_plain_network_does_see_handedness():
    """Shows that the test above can fail."""
    torch.manual_seed(0)
    rep = SPACES.proprioception.rep
    net, x = MLP(rep, (16,), SPACES.action.rep, equivariant=False), torch.randn(8, rep.dim)
    gradients = [
        torch.autograd.grad(net(inputs).square().sum(), net.layers[0].weight[0])[0]
        for inputs in (x, rep(x))
    ]
    assert not torch.allclose(*gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_60_step_stochastic_rollout_mirrors_bit_for_bit(dtype):
    torch.manual_seed(0)
    agent = ToyAgent(SPACES, equivariant=True).to(dtype)
    prop, act, z = SPACES.proprioception.rep, SPACES.action.rep, agent.latent.rep
    obs, z_noise, a_noise = (torch.randn(5, 60, rep.dim, dtype=dtype) for rep in (prop, z, act))
    with torch.no_grad():
        actions, states = agent(obs, z_noise, a_noise)
        there, mirrored_states = agent(prop(obs), z(z_noise), act(a_noise))
        elsewhere, _ = agent(prop(obs), z_noise, a_noise)
    assert torch.equal(there, act(actions))
    assert torch.equal(mirrored_states, regular(32)(states))
    assert not torch.allclose(elsewhere, act(actions))  # without the mirrored noise it does not
