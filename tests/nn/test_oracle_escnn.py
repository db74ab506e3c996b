"""Our layers span the same maps as those of escnn, an independent library (`make test-oracles`)."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from swap.nn import Linear
from swap.symmetry import Rep, flip, signs, trivial

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]  # escnn warns a lot


def mirror_group():
    from escnn import group, gspaces

    return gspaces.no_base_space(group.cyclic_group(2))


FIELDS = {"even": trivial(1), "odd": signs(-1), "pair": flip(2)}


def field_type(space, kinds):
    from escnn import nn as enn

    known = {"even": space.trivial_repr, "odd": space.irrep(1), "pair": space.regular_repr}
    return enn.FieldType(space, [known[kind] for kind in kinds])


def rep(kinds) -> Rep:
    total = trivial(0)
    for kind in kinds:
        total = total + FIELDS[kind]
    return total


@pytest.mark.parametrize(
    ("kinds_in", "kinds_out"),
    [
        (["pair"] * 4, ["pair"] * 3),
        (["even", "odd", "pair", "odd"], ["pair", "even", "odd"]),
        (["odd"] * 3 + ["pair"] * 2, ["even"] * 2 + ["odd"]),
    ],
)
def test_linear_maps_are_the_same_space(kinds_in, kinds_out):
    from escnn import nn as enn

    space = mirror_group()
    theirs = enn.Linear(field_type(space, kinds_in), field_type(space, kinds_out), bias=True)
    ours = Linear(rep(kinds_in), rep(kinds_out)).double()
    n_ours = sum(w.numel() for w in ours.weight)
    assert n_ours == theirs.weights.numel()
    assert ours.bias.numel() == theirs.bias.numel()

    generator = torch.Generator().manual_seed(0)
    samples = []
    for _ in range(2 * n_ours):
        theirs.weights.data.normal_(generator=generator)
        matrix, _ = theirs.expand_parameters()
        samples.append(matrix.detach().double().numpy().ravel())
    P, R = rep(kinds_in).matrix, rep(kinds_out).matrix
    shape = (len(R), len(P))
    for sample in samples:  # theirs lie in our space: they commute with our mirror
        W = sample.reshape(shape)
        assert np.allclose(W @ P, R @ W, atol=1e-5)
    assert np.linalg.matrix_rank(np.array(samples), tol=1e-3) == n_ours  # and fill it


def test_their_convolutions_of_an_image_are_two_view_convolutions():
    from escnn import gspaces
    from escnn import nn as enn

    torch.manual_seed(0)
    space = gspaces.flip2dOnR2(axis=np.pi / 2)  # left-right
    type_in = enn.FieldType(space, [space.trivial_repr])
    type_out = enn.FieldType(space, [space.regular_repr] * 3)
    conv = enn.R2Conv(type_in, type_out, kernel_size=3, padding=1, bias=False)
    kernel, _ = conv.expand_parameters()  # [6, 1, 3, 3], pairs interleaved
    x = torch.randn(2, 1, 9, 9)
    theirs = conv(enn.GeometricTensor(x, type_in)).tensor
    left, right = theirs[:, 0::2], theirs[:, 1::2].flip(-1)  # their right view, in its coordinates

    own = kernel[0::2]
    for view, expected in zip((x, x.flip(-1)), (left, right), strict=True):
        assert torch.allclose(F.conv2d(view, own, padding=1), expected, atol=1e-5)
    assert conv.weights.numel() <= own.numel()  # escnn's kernels are a band-limited part of all
