"""Features keep their mean square (power) through eight layers, as in the plain twin."""

import pytest
import torch

from swap.env import Spaces
from swap.nn import MLP, ConvTrunk, Linear
from swap.nn.init import gain
from swap.symmetry import regular

SPACES = Spaces()


# SiLU is only used with a norm: it grows faster than its input, so without a norm any deviation of
# power is amplified layer by layer, in the plain twin as well.
# The power of narrow networks with ReLU varies more from one to the next.
@pytest.mark.parametrize(
    ("act", "width"), [("identity", 256), ("elu", 256), ("relu", 512), ("tanh", 256)]
)
@pytest.mark.parametrize("equivariant", [True, False])
def test_power_over_eight_layers(act, width, equivariant):
    torch.manual_seed(0)
    rep, powers = regular(width // 2), []
    for _ in range(150):
        mlp = MLP(rep, (width,) * 7, rep, act=act, equivariant=equivariant)
        with torch.no_grad():
            powers.append(mlp(torch.randn(4, width)).square().mean())
    assert torch.stack(powers).mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("field", ["proprioception", "privileged", "predicted_heights"])
def test_power_from_and_to_signed_spaces(field):
    torch.manual_seed(0)
    rep = getattr(SPACES, field).rep
    x = torch.randn(2000, rep.dim)
    for layer in (Linear(rep, regular(512)), Linear(regular(512), rep)):
        x = torch.randn(2000, layer.source.rep.dim)
        with torch.no_grad():
            assert layer(x).square().mean() == pytest.approx(1, abs=0.1)


def test_power_through_the_conv_trunk_is_that_of_its_plain_twin():
    """Zero padding loses power at every border, the same share in both networks."""
    torch.manual_seed(0)
    powers = []
    for equivariant in (False, True):
        runs = []
        for _ in range(40):
            trunk = ConvTrunk(norm=False, act="relu", equivariant=equivariant)
            with torch.no_grad():
                runs.append(trunk(torch.randn(2, 1, 64, 64)).square().mean())
        powers.append(float(torch.stack(runs).mean() * gain("relu") ** 2))
    assert 0.6 < powers[0] < 1
    assert powers[1] == pytest.approx(powers[0], rel=0.1)


def test_gain_of_relu_is_known():
    assert gain("relu") == pytest.approx(2**0.5, rel=1e-6)
