"""Adam moves the dense matrices of an equivariant layer and of its plain twin equally far, if the
rates are those of the presets."""

import pytest
import torch

from swap.learn import Trainer
from swap.learn.adam import GuardedAdam
from swap.nn import Linear
from swap.presets.swap import ARMS, LR, PLAIN_LR
from swap.symmetry import regular
from toy_world import Toy, small


def moved(rate: float, *, equivariant: bool) -> float:
    """How far one step moves the entries of the dense matrix: their root mean square."""
    torch.manual_seed(0)
    layer = Linear(regular(64), regular(64), bias=False, equivariant=equivariant)
    before = layer.dense().weight[0].detach().clone()
    adam = GuardedAdam([(list(layer.weight), 0.0)], torch.tensor(rate))
    adam.descend([torch.randn_like(w) for w in layer.weight], torch.tensor(True))
    return float((layer.dense().weight[0] - before).detach().square().mean().sqrt())


def test_a_step_moves_a_dense_entry_of_an_equivariant_layer_less():
    plain, ours = moved(1e-3, equivariant=False), moved(1e-3, equivariant=True)
    assert plain == pytest.approx(1e-3, rel=1e-3)
    assert ours == pytest.approx(1e-3 / 2**0.5, rel=1e-2)


def test_the_rates_of_the_presets_make_up_for_it():
    plain, ours = moved(PLAIN_LR, equivariant=False), moved(LR, equivariant=True)
    assert ours == pytest.approx(plain, rel=0.02)


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_has_the_rate_of_its_world_model(name):
    model = ARMS[name].model
    assert model.lr == (LR if model.net.equivariant else PLAIN_LR)


def test_a_parameter_may_have_a_rate_of_its_own_and_the_order_of_gradients_stays():
    parameters = [torch.zeros(2), torch.zeros(3), torch.zeros(1)]
    rates = {parameters[1]: 0.25}
    adam = GuardedAdam([(parameters, 0.0)], torch.tensor(1e-3), rates=rates)
    adam.descend([torch.tensor([1.0, -2.0]), -torch.ones(3), torch.ones(1)], torch.tensor(True))
    for p, wanted in zip(parameters, ([-1e-3, 1e-3], [2.5e-4] * 3, [-1e-3]), strict=True):
        torch.testing.assert_close(p, torch.tensor(wanted))


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_the_std_learns_with_a_rate_of_its_own(rate):
    trainer = Trainer(small(std_rate=rate, epochs=1, minibatches=1, lr=1e-3), Toy(32))
    before = {name: p.detach().clone() for name, p in trainer.policy.named_parameters()}
    trainer.collector.collect(0.99, 0.95)
    trainer.ppo.update(torch.Generator().manual_seed(0))
    used = float(trainer.ppo.lr)
    moved = {
        name: float((p.detach() - before[name]).abs().max())
        for name, p in trainer.policy.named_parameters()
        if p.numel()
    }
    assert moved.pop("actor.head.raw_std") == pytest.approx(rate * used, rel=1e-2)
    assert max(moved.values()) == pytest.approx(used, rel=1e-2)
