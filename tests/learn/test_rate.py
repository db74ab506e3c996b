"""Adam moves the dense matrices of an equivariant layer and of its plain twin equally far, if the
rates are those of the presets."""

import pytest
import torch

from swap.learn.adam import GuardedAdam
from swap.nn import Linear
from swap.presets.swap import ARMS, LR, PLAIN_LR
from swap.symmetry import regular


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
