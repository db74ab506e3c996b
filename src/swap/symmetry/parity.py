"""Splits a Rep into even and odd coordinates, the orthonormal basis in which mirroring is a sign.

A pair (i, j) with mirror sign s gives one even coordinate (x_i + s x_j)/√2 and one odd coordinate
(x_i - s x_j)/√2; a fixed entry is even or odd by its sign. Each coordinate is a scaled sum of two
entries, and each entry is a scaled sum of two coordinates, so both directions take two gathers. A
fixed entry is written as the sum of its two halves, (x_i + x_i)/2, which is exact.

Adding first and scaling after keeps the mirror exact: when the two entries trade places,
x_i + s x_j stays the same float, and x_i - s x_j becomes its exact negative.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from swap.symmetry.rep import Rep

SQRT_HALF = float(np.sqrt(0.5))


@dataclass(frozen=True)
class Gather:
    """`y[k] = (x[a[k]] + sign[k] * x[b[k]]) * scale[k]`."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    sign: tuple[int, ...]
    scale: tuple[float, ...]

    @property
    def matrix(self) -> np.ndarray:
        n = len(self.a)
        Q = np.zeros((n, n))
        Q[np.arange(n), list(self.a)] += self.scale
        Q[np.arange(n), list(self.b)] += np.multiply(self.sign, self.scale)
        return Q


@dataclass(frozen=True)
class Parity:
    """The even/odd split of one Rep. Coordinates are ordered [even..., odd...]; in each part those
    of pairs come first."""

    rep: Rep

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The positions that trade places; each pair is listed once."""
        return tuple((i, j) for i, j in enumerate(self.rep.perm) if i < j)

    @cached_property
    def fixed(self) -> tuple[int, ...]:
        """The positions that stay in place."""
        return tuple(i for i, j in enumerate(self.rep.perm) if i == j)

    @cached_property
    def split(self) -> Gather:
        """Maps entries to even and odd coordinates."""
        rows: list[_Row] = []
        for parity in (1, -1):
            rows += [(i, j, parity * self.rep.sign[i], SQRT_HALF) for i, j in self.pairs]
            rows += [(i, i, 1, 0.5) for i in self.fixed if self.rep.sign[i] == parity]
        return _gather(rows)

    @cached_property
    def merge(self) -> Gather:
        """Maps even and odd coordinates back to entries: the transpose of `split`, its inverse."""
        rows: dict[int, _Row] = {}
        for k, (i, j) in enumerate(self.pairs):
            odd = self.rep.n_even + k
            rows[i] = (k, odd, 1, SQRT_HALF)
            rows[j] = (k, odd, -1, self.rep.sign[i] * SQRT_HALF)
        next_even, next_odd = len(self.pairs), self.rep.n_even + len(self.pairs)
        for i in self.fixed:
            if self.rep.sign[i] == 1:
                rows[i], next_even = (next_even, next_even, 1, 0.5), next_even + 1
            else:
                rows[i], next_odd = (next_odd, next_odd, 1, 0.5), next_odd + 1
        return _gather([rows[i] for i in range(self.rep.dim)])


_Row = tuple[int, int, int, float]


def _gather(rows: list[_Row]) -> Gather:
    a, b, sign, scale = zip(*rows, strict=True) if rows else ((),) * 4
    return Gather(a, b, sign, scale)
