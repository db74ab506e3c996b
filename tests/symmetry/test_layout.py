import pytest
import torch

from swap.errors import UserError
from swap.symmetry import Field, Layout, flip, signs


@pytest.fixture
def layout():
    return Layout((Field("vel", signs(1, -1, 1)), Field("scan", flip(4))))


def test_slices_by_name(layout):
    x = torch.arange(7.0)
    assert x[layout["scan"]].tolist() == [3, 4, 5, 6]
    assert layout.dim == 7
    assert layout.rep == signs(1, -1, 1) + flip(4)


def test_pack_puts_parts_in_order_and_unpack_gives_them_back(layout):
    parts = {"scan": torch.randn(2, 4), "vel": torch.randn(2, 3)}
    x = layout.pack(parts)
    assert torch.equal(x, torch.cat((parts["vel"], parts["scan"]), -1))
    assert all(torch.equal(part, parts[name]) for name, part in layout.unpack(x).items())


def test_repeat_names_each_copy(layout):
    twice = layout.repeat(2, "t")
    assert twice.names == ("t0.vel", "t0.scan", "t1.vel", "t1.scan")
    assert twice.rep == layout.rep * 2
    assert twice["t1.vel"] == slice(7, 10)


def test_mistakes_name_the_fix(layout):
    with pytest.raises(UserError, match="unknown field 'scna'; did you mean 'scan'"):
        layout["scna"]
    with pytest.raises(UserError, match="unknown field 'vell'; did you mean 'vel'"):
        layout.pack({"vell": torch.zeros(3)})
    with pytest.raises(UserError, match=r"field 'scan' is missing; pass all of \('vel', 'scan'\)"):
        layout.pack({"vel": torch.zeros(3)})
    with pytest.raises(
        UserError, match=r"field 'vel' has 3 entries, got 2; pass a tensor \[..., 3]"
    ):
        layout.pack({"vel": torch.zeros(2), "scan": torch.zeros(4)})
    with pytest.raises(UserError, match="this layout has 7 entries"):
        layout.unpack(torch.zeros(6))
    with pytest.raises(UserError, match="'vel' occurs twice"):
        layout + layout
