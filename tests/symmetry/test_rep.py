import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import reps
from swap.errors import UserError
from swap.symmetry import Rep, flip, regular, signs, trivial


def test_mirror_moves_and_negates():
    rep = signs(1, -1, 1) + flip(3)
    x = torch.tensor([1.0, 2, 3, 4, 5, 6])
    assert rep(x).tolist() == [1, -2, 3, 6, 5, 4]


def test_tensor_product_varies_the_second_factor_fastest():
    rep = flip(2) @ signs(1, -1)
    assert rep(torch.tensor([1.0, 2, 3, 4])).tolist() == [3, -4, 1, -2]


def test_regular_swaps_halves():
    assert regular(2)(torch.tensor([1.0, 2, 3, 4])).tolist() == [3, 4, 1, 2]
    assert regular(2).is_regular
    assert not (trivial(2) + flip(2)).is_regular


@pytest.mark.parametrize(
    ("perm", "sign", "says"),
    [
        ((1, 2, 0), (1, 1, 1), "mirroring twice"),
        ((1, 0), (1, -1), "give them one sign"),
        ((0, 0), (1, 1), "no permutation"),
        ((0,), (2,), "signs must be 1 or -1"),
        ((0, 1), (1,), "one sign a position"),
    ],
)
def test_a_map_that_is_no_mirror_is_refused(perm, sign, says):
    with pytest.raises(UserError, match=says):
        Rep(perm, sign)


def test_wrong_width_is_refused():
    with pytest.raises(UserError, match="mirrors 3"):
        signs(1, -1, 1)(torch.zeros(2, 4))


@given(reps(), reps(), st.integers(0, 3))
def test_composition_is_the_algebra_of_matrices(a, b, n):
    assert np.array_equal((a + b).matrix, block_diag(a.matrix, b.matrix))
    assert np.array_equal((a @ b).matrix, np.kron(a.matrix, b.matrix))
    assert np.array_equal((a * n).matrix, np.kron(np.eye(n), a.matrix))
    assert np.array_equal(abs(a).matrix, np.abs(a.matrix))


@given(reps())
def test_call_is_the_matrix_and_its_own_inverse(rep):
    x = torch.randn(5, rep.dim, dtype=torch.float64)
    assert torch.equal(rep(x), x @ torch.from_numpy(rep.matrix).T)
    assert torch.equal(rep(rep(x)), x)
    assert rep.n_even - rep.n_odd == rep.trace == np.trace(rep.matrix)


def block_diag(a, b):
    return np.block([[a, np.zeros((len(a), len(b)))], [np.zeros((len(b), len(a))), b]])
