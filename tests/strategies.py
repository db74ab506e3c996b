"""Provides random representations for property tests."""

from hypothesis import strategies as st

from swap.symmetry import Rep


@st.composite
def reps(draw: st.DrawFn, max_dim: int = 12) -> Rep:
    """Any signed permutation that is its own inverse, fixed entries and pairs in random places."""
    dim = draw(st.integers(1, max_dim))
    order = draw(st.permutations(range(dim)))
    n_pairs = draw(st.integers(0, dim // 2))
    perm, sign = list(range(dim)), [draw(st.sampled_from((1, -1))) for _ in range(dim)]
    for k in range(n_pairs):
        i, j = order[2 * k], order[2 * k + 1]
        perm[i], perm[j], sign[j] = j, i, sign[i]
    return Rep(tuple(perm), tuple(sign))
