import numpy as np
from hypothesis import given

from strategies import reps
from swap.symmetry import Parity


@given(reps())
def test_split_is_orthonormal_and_turns_the_mirror_into_signs(rep):
    Q = Parity(rep).split.matrix
    assert np.allclose(Q @ Q.T, np.eye(rep.dim), atol=1e-15)
    signs = np.diag([1.0] * rep.n_even + [-1.0] * rep.n_odd)
    assert np.allclose(Q @ rep.matrix @ Q.T, signs, atol=1e-15)


@given(reps())
def test_merge_is_the_transpose_of_split(rep):
    parity = Parity(rep)
    assert np.array_equal(parity.merge.matrix, parity.split.matrix.T)


@given(reps())
def test_every_entry_is_in_one_pair_or_fixed(rep):
    parity = Parity(rep)
    listed = [i for pair in parity.pairs for i in pair] + list(parity.fixed)
    assert sorted(listed) == list(range(rep.dim))
    assert all(rep.perm[i] == j for i, j in parity.pairs)
