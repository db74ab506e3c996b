"""The discriminator gives a motion and its mirror image the same score, and the reward follows from
it."""

import pytest
import torch

from swap.env import Spaces
from swap.policy import Discriminator, style_reward

FRAME = Spaces().layout("joint_pos", "lin_vel", "ang_vel", "joint_vel")
PAIR = Spaces().style


def made(equivariant=True, act="relu"):
    torch.manual_seed(0)
    net = Discriminator(FRAME.rep, (256, 128), act=act, equivariant=equivariant)
    net.mlp.norm.update(torch.randn(500, 60) * torch.rand(60) + 0.3)
    return net


@pytest.mark.parametrize("act", ["relu", "elu"])
def test_a_motion_and_its_mirror_image_have_one_score(act):
    net, x = made(act=act), torch.randn(333, 60) * 3
    score = net(net.coordinates(x))
    assert score.shape == (333,)
    assert score.std() > 0.01
    assert torch.equal(score, net(net.coordinates(PAIR.rep(x))))


def test_the_plain_twin_tells_them_apart():
    net, x = made(equivariant=False), torch.randn(333, 60) * 3
    difference = net(net.coordinates(x)) - net(net.coordinates(PAIR.rep(x)))
    assert difference.abs().max() > 0.01


def test_it_is_small():
    size = [sum(p.numel() for p in made(e).parameters()) for e in (True, False)]
    assert size[1] == 60 * 256 + 256 + 256 * 128 + 128 + 128 + 1
    assert 0.45 < size[0] / size[1] < 0.55


def test_the_reward_of_a_score():
    score = torch.tensor([-3.0, -1.0, 0.0, 1.0, 2.0, 4.0])
    assert style_reward(score).tolist() == [0.0, 0.0, 0.75, 1.0, 0.75, 0.0]
