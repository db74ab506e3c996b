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
def test_an_orbit_is_an_entry_with_its_mirror_image(rep):
    parity = Parity(rep)
    for i, j in enumerate(rep.perm):
        assert parity.orbit[i] == parity.orbit[j]
    assert len(set(parity.orbit)) == parity.n_orbits == len(parity.pairs) + len(parity.fixed)
