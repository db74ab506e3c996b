"""Weights made ready are made anew whenever they change, and gradients find their way through."""

import copy

import pytest
import torch

from swap.nn import Linear
from swap.nn.weight_cache import WeightCache, frozen
from swap.symmetry import regular


def layer():
    torch.manual_seed(0)
    return Linear(regular(3), regular(4)).requires_grad_(False)


def by_hand(net, x):
    """Of the dense twin, which is folded at every call."""
    return net.dense()(x)


def in_place(net):
    net.weight[0].mul_(2)


def loaded(net):
    net.load_state_dict({name: x + 1 for name, x in net.state_dict().items()})


def other_data(net):
    net.weight[1].data = torch.randn_like(net.weight[1])


def converted(net):
    net.double().float()
    net.bias.add_(1)


@pytest.mark.parametrize("change", [in_place, loaded, other_data, converted])
def test_frozen_weights_that_change_are_seen(change):
    net, x = layer(), torch.randn(2, 6)
    for _ in range(2):
        assert torch.allclose(net(x), by_hand(net, x), atol=1e-6)
        before = net(x)
        with torch.no_grad():
            change(net)
        assert not torch.allclose(net(x), before)
        assert torch.allclose(net(x), by_hand(net, x), atol=1e-6)


def test_a_copy_has_its_own():
    net, x = layer(), torch.randn(2, 6)
    net(x)
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin.weight[0].zero_()
    assert torch.allclose(twin(x), by_hand(twin, x), atol=1e-6)
    assert torch.allclose(net(x), by_hand(net, x), atol=1e-6)


def test_weights_that_learn_are_read_at_every_call():
    net, x = layer().requires_grad_(True), torch.randn(2, 6)
    adam = torch.optim.Adam(net.parameters(), lr=0.1, fused=True)  # which writes to them unseen
    for _ in range(3):
        net(x).square().sum().backward()
        adam.step()
        with torch.no_grad():
            assert torch.allclose(net(x), by_hand(net, x), atol=1e-6)


def test_weights_frozen_for_a_while_are_seen_when_they_have_learned():
    net, x = layer().requires_grad_(True), torch.randn(2, 6)
    net.bias.requires_grad_(False)
    adam = torch.optim.Adam([*net.weight], lr=0.1, fused=True)
    for _ in range(3):
        with frozen(net):
            assert not any(p.requires_grad for p in net.parameters())
            assert net.scaled()[0][0] is net.scaled()[0][0]
            assert torch.allclose(net(x), by_hand(net, x), atol=1e-6)
        assert net.weight[0].requires_grad
        assert not net.bias.requires_grad
        net(x).square().sum().backward()
        adam.step()


def test_frozen_weights_are_made_ready_once():
    made, weights, ready = [], [torch.ones(2)], WeightCache()
    for _ in range(3):
        ready(weights, lambda: made.append(1) or 5)
    assert made == [1]
    with torch.inference_mode():  # what is written to these is not counted
        unseen = [torch.ones(2)]
    for _ in range(2):
        ready(unseen, lambda: made.append(1) or 5)
    assert made == [1, 1, 1]
