"""`Linear` spans all equivariant affine maps and no others. The oracle averages dense maps over the
mirror."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from strategies import reps
from swap.env import Spaces
from swap.nn import Linear
from swap.symmetry import regular, trivial

SPACES = Spaces()


def brute_force_basis(rep_in, rep_out):
    """Every matrix with a single 1, averaged over the mirror, as rows: they span the equivariant
    maps."""
    P, R = rep_in.matrix, rep_out.matrix
    rows = []
    for i in range(rep_out.dim):
        for j in range(rep_in.dim):
            E = np.zeros((rep_out.dim, rep_in.dim))
            E[i, j] = 1
            rows.append(((E + R @ E @ P) / 2).ravel())
    return np.array(rows)


def our_basis(rep_in, rep_out):
    """For each weight of a Linear, the dense matrix with this weight 1, all others 0, as rows."""
    layer, rows = Linear(rep_in, rep_out, bias=False).double(), []
    for weight in layer.weight:
        for k in range(weight.numel()):
            for other in layer.weight:
                other.data.zero_()
            weight.data.view(-1)[k] = 1
            rows.append(layer.dense().weight[0].detach().numpy().ravel().copy())
    return np.array(rows).reshape(-1, rep_in.dim * rep_out.dim)


@settings(max_examples=60)
@given(reps(max_dim=7), reps(max_dim=7))
def test_our_maps_are_the_equivariant_maps(rep_in, rep_out):
    ours, all_maps = our_basis(rep_in, rep_out), brute_force_basis(rep_in, rep_out)
    rank = np.linalg.matrix_rank(all_maps)
    assert len(ours) == rank == (rep_in.dim * rep_out.dim + rep_in.trace * rep_out.trace) // 2
    if rank:
        assert np.allclose(ours @ ours.T, np.eye(rank), atol=1e-12)  # independent, orthonormal
        assert np.linalg.matrix_rank(np.vstack((ours, all_maps)), tol=1e-9) == rank  # same span


@settings(max_examples=60)
@given(reps(max_dim=9), reps(max_dim=9))
def test_biases_are_the_invariant_vectors(rep_in, rep_out):
    layer = Linear(rep_in, rep_out).double()
    layer.bias.data.normal_()
    bias = layer.dense().bias.detach()
    assert torch.allclose(rep_out(bias), bias, atol=1e-15)
    assert layer.bias.numel() == np.linalg.matrix_rank(rep_out.matrix + np.eye(rep_out.dim))


@pytest.mark.parametrize(
    ("rep_in", "rep_out", "weights"),
    [
        (SPACES.proprioception.rep, SPACES.action.rep, 198),
        (SPACES.fields["terrain_heights"].rep, regular(8), 1496),
        (SPACES.privileged.rep, trivial(1), 147),
        (SPACES.proprioception.rep, regular(16), 528),
        (SPACES.action.rep, regular(3), 36),
    ],
)
def test_weight_counts_known_beforehand(rep_in, rep_out, weights):
    layer = Linear(rep_in, rep_out, bias=False)
    assert sum(w.numel() for w in layer.weight) == weights
