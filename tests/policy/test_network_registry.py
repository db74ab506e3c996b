"""Users' networks are tested when they are built, and refused in one line if they break the
mirror."""

import pytest
import torch
from torch import nn

from swap.errors import UserError
from swap.nn import MLP, Linear
from swap.policy import NETWORKS, NetworkSpec, PolicyCfg
from swap.policy.network_registry import accept
from swap.policy.normalized_mlp import NormalizedMLP
from swap.symmetry import regular, signs
from swap.world_model import EncoderSpec, WorldModelCfg
from swap.world_model.encoder_registry import accept as accept_encoder

REP_IN, REP_OUT = signs(1, -1, 1) + regular(3), regular(2)
SPEC = NetworkSpec(REP_IN, REP_OUT, (16, 8), "elu", 0.01, True)
PLAIN = NetworkSpec(REP_IN, REP_OUT, (16, 8), "elu", 0.01, False)
IMAGE = EncoderSpec((8, 8), REP_IN, (4,), 16, True)


class Straight(nn.Module):
    """Our MLP with a linear skip connection: exact."""

    def __init__(self, spec):
        super().__init__()
        self.deep = MLP(spec.rep_in, (16,), spec.rep_out, equivariant=spec.equivariant)
        self.way = Linear(spec.rep_in, spec.rep_out, equivariant=spec.equivariant)

    def forward(self, x):
        return self.deep(x) + self.way(x)


class Averaged(nn.Module):
    """Any network averaged with its mirror image: exact, too."""

    def __init__(self, spec):
        super().__init__()
        self.spec, self.net = spec, nn.Linear(spec.rep_in.dim, spec.rep_out.dim)

    def forward(self, x):
        return self.net(x) + self.spec.rep_out(self.net(self.spec.rep_in(x)))


class Dense(nn.Sequential):
    """Not equivariant; its initial output is zero, which hides that."""

    def __init__(self, spec):
        last = nn.Linear(8, spec.rep_out.dim)
        super().__init__(nn.Linear(spec.rep_in.dim, 8), nn.ELU(), last)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)


class Bad(nn.Module):
    def __init__(self, spec):
        super().__init__()

    def forward(self, x):
        return {}[x.shape]


def built(found, spec=SPEC):
    return accept(found, found.__name__, f"{found.__name__} in 'my.py'")(spec)


@pytest.mark.parametrize("kind", [Straight, Averaged])
def test_what_obeys_the_mirror_is_taken_and_obeys_it_to_the_last_bit(kind):
    net, x = built(kind), torch.randn(5, 9)
    assert isinstance(net, kind)
    assert torch.equal(net(REP_IN(x)), REP_OUT(net(x)))


def test_what_breaks_the_mirror_is_refused_with_its_error_unless_it_is_not_asked_for():
    says = r"Dense in 'my.py' breaks the mirror: its outputs, of up to [\d.]+, are off by 0\.\d+ "
    with pytest.raises(UserError, match=says) as error:
        built(Dense)
    assert str(error.value).endswith("or do without: --policy.no-equivariant")
    net = built(Dense, PLAIN)
    assert not net(torch.randn(3, 9)).any()  # a copy was tested


def test_trying_it_draws_no_random_numbers():
    torch.manual_seed(0)
    Averaged(SPEC)
    wanted = torch.rand(3)
    torch.manual_seed(0)
    built(Averaged)
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Bad, r"Bad in 'my.py': .*test_network_registry.py, line \d+: KeyError: "),
        (
            lambda spec: nn.Linear(9, 3),
            r"gives \[2, 3, 3\] for a batch of \[2, 3\]; give \[2, 3, 4",
        ),
        (lambda spec: nn.Linear(8, 4), "RuntimeError: "),
        (lambda spec: 3, "builds a int; build a torch.nn.Module"),
        (lambda: nn.Linear(9, 4), "in 'my.py': TypeError: "),
        (lambda spec: nn.LSTM(9, 4), "gives tuple for a batch|RuntimeError"),
    ],
)
def test_what_is_no_such_network_is_one_line(found, says):
    with pytest.raises(UserError, match=says):
        built(found)


def test_it_reads_what_the_normaliser_gives_and_is_trained_with_it():
    built_in = NormalizedMLP(
        REP_IN, (16,), REP_OUT, act="elu", out_gain=1.0, equivariant=True, network="mlp"
    )
    assert isinstance(built_in.net, MLP)
    NETWORKS.added["averaged"] = Averaged
    try:
        own = NormalizedMLP(
            REP_IN, (16,), REP_OUT, act="elu", out_gain=1.0, equivariant=True, network="averaged"
        )
    finally:
        del NETWORKS.added["averaged"]
    x = 3 + 2 * torch.randn(50, 9)
    for net in (built_in, own):
        net.norm.update(x)
        assert net.width == 9
        y = net(net.coordinates(x))
        torch.testing.assert_close(y, net.net(net.norm(x)))
        assert torch.equal(net(net.coordinates(REP_IN(x))), REP_OUT(y))
    assert {name for name, _ in own.named_parameters()} == {"net.net.weight", "net.net.bias"}


def test_a_config_names_what_is_known_or_code():
    assert PolicyCfg(actor="my.py:Net").critic == "mlp"
    with pytest.raises(UserError, match="unknown network 'mpl'; did you mean 'mlp'"):
        PolicyCfg(actor="mpl")
    with pytest.raises(UserError, match="unknown encoder 'x'; known: cnn"):
        WorldModelCfg(encoder="x")


# --- encoders ------------------------------------------------------------------------------------
class TwoViews(nn.Module):
    """Any network, run on the image and on its mirror image."""

    def __init__(self, spec):
        super().__init__()
        rows, cols = spec.image
        self.prop, self.rep = spec.prop, regular(6)
        self.net = nn.Linear(rows * cols + spec.prop.dim, 6)

    def view(self, depth, prop):
        return self.net(torch.cat([depth.flatten(-2), prop], -1))

    def forward(self, depth, prop):
        return torch.cat([self.view(depth, prop), self.view(depth.flip(-1), self.prop(prop))], -1)


class OneView(TwoViews):
    def forward(self, depth, prop):
        return torch.cat([self.view(depth, prop), self.view(depth, prop)], -1)


class NoRep(TwoViews):
    def __init__(self, spec):
        super().__init__(spec)
        del self.rep


def built_encoder(found):
    return accept_encoder(found, found.__name__, f"{found.__name__} in 'my.py'")(IMAGE)


def test_an_encoder_is_tried_likewise():
    net = built_encoder(TwoViews)
    depth, prop = torch.randn(5, 8, 8), torch.randn(5, 9)
    assert torch.equal(net(depth.flip(-1), REP_IN(prop)), net.rep(net(depth, prop)))
    with pytest.raises(UserError, match=r"breaks the mirror: .* --model.net.no-equivariant"):
        built_encoder(OneView)
    with pytest.raises(UserError, match=r"NoRep in 'my.py' has no attribute rep; say how"):
        built_encoder(NoRep)
