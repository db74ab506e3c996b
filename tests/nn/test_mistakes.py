"""Bad input gets one line that names the fix."""

import pytest
import torch

from swap.errors import UserError
from swap.nn import MLP, ConvDecoder, ConvTrunk, GRUCell, Linear, RMSNorm
from swap.symmetry import regular, trivial


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: MLP(trivial(3), (511,)), "hidden width=511 is odd; .* come in pairs, use 512"),
        (lambda: MLP(trivial(3), (0,)), "hidden width=0 is not positive"),
        (lambda: MLP(trivial(3), ()), r"needs a hidden width; for none use Linear"),
        (
            lambda: MLP(trivial(3), (8,), act="sliu"),
            "unknown activation 'sliu'; did you mean 'silu'",
        ),
        (lambda: GRUCell(7, 8), "inputs=7 is odd; .* use 8"),
        (lambda: GRUCell(8, 7), "width=7 is odd; .* use 8"),
        (lambda: RMSNorm(5), "width=5 is odd; .* use 6"),
        (lambda: ConvTrunk((60, 64)), "image size 60x64 does not halve 4 times; .* multiple of 16"),
        (lambda: ConvTrunk(channels=(31, 64)), "channels=31 is odd; .* use 32"),
        (lambda: ConvDecoder(regular(4), (64, 63)), "use a multiple of 16, e.g. 64"),
        (
            lambda: Linear(trivial(4), trivial(2))(torch.zeros(3, 5)),
            r"reads 4 features, the tensor has 5; pass a tensor \[..., 4] in the order of its Rep",
        ),
        (
            lambda: MLP(trivial(4), (8,))(torch.zeros(3, 5)),
            "reads 4 features, the tensor has 5",
        ),
        (
            lambda: ConvTrunk()(torch.zeros(2, 64, 64)),
            r"reads images \[1, 64, 64], got \[2, 64, 64]",
        ),
    ],
)
def test_mistakes_name_the_fix(build, says):
    with pytest.raises(UserError, match=says) as error:
        build()
    assert "\n" not in str(error.value)
