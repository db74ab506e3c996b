"""From a Rep to its even and odd coordinates: the orthonormal basis in which mirroring is a sign.

A pair (i, j) with mirror sign s gives one even coordinate (x_i + s x_j)/√2 and one odd coordinate
(x_i - s x_j)/√2; a fixed entry is even or odd by its sign. Each line is a sum of two entries times
a scale, and so is each line back, which makes both directions two gathers. A fixed entry is
written as the sum of its two halves, (x_i + x_i)/2, which is exact.

Adding first and scaling after keeps it exact under the mirror: x_i + s x_j is the same float when
the two trade places, and x_i - s x_j is its exact negative.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from swap.symmetry.rep import Rep

SQRT_HALF = float(np.sqrt(0.5))


@dataclass(frozen=True)
class Gather:
    """`y[k] = scale[k] * (sign_a[k] * x[a[k]] + sign_b[k] * x[b[k]])`."""

    a: tuple[int, ...]
    sign_a: tuple[int, ...]
    b: tuple[int, ...]
    sign_b: tuple[int, ...]
    scale: tuple[float, ...]

    @property
    def matrix(self) -> np.ndarray:
        n = len(self.a)
        Q = np.zeros((n, n))
        for index, sign in ((self.a, self.sign_a), (self.b, self.sign_b)):
            Q[np.arange(n), list(index)] += np.multiply(sign, self.scale)
        return Q


@dataclass(frozen=True)
class Parity:
    """The even/odd split of one Rep. Coordinates come as [even..., odd...], pairs first in each."""

    rep: Rep

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The positions that trade places, each pair once."""
        return tuple((i, j) for i, j in enumerate(self.rep.perm) if i < j)

    @cached_property
    def fixed(self) -> tuple[int, ...]:
        """The positions that stay."""
        return tuple(i for i, j in enumerate(self.rep.perm) if i == j)

    @cached_property
    def orbit(self) -> tuple[int, ...]:
        """For each position the number of its orbit: what is tied across the mirror is shared."""
        number: dict[int, int] = {}
        for i, j in enumerate(self.rep.perm):
            number.setdefault(min(i, j), len(number))
        return tuple(number[min(i, j)] for i, j in enumerate(self.rep.perm))

    @property
    def n_orbits(self) -> int:
        return len(self.pairs) + len(self.fixed)

    @cached_property
    def split(self) -> Gather:
        """Entries -> even and odd coordinates."""
        rows = []
        for parity in (1, -1):
            rows += [(i, 1, j, parity * self.rep.sign[i], SQRT_HALF) for i, j in self.pairs]
            rows += [(i, 1, i, 1, 0.5) for i in self.fixed if self.rep.sign[i] == parity]
        return _gather(rows)

    @cached_property
    def merge(self) -> Gather:
        """Even and odd coordinates -> entries: the transpose of `split`, and its inverse."""
        rows = [(0, 1, 0, 1, 0.5)] * self.rep.dim
        for k, (i, j) in enumerate(self.pairs):
            odd, s = self.rep.n_even + k, self.rep.sign[i]
            rows[i] = (k, 1, odd, 1, SQRT_HALF)
            rows[j] = (k, s, odd, -s, SQRT_HALF)
        next_even, next_odd = len(self.pairs), self.rep.n_even + len(self.pairs)
        for i in self.fixed:
            if self.rep.sign[i] == 1:
                rows[i], next_even = (next_even, 1, next_even, 1, 0.5), next_even + 1
            else:
                rows[i], next_odd = (next_odd, 1, next_odd, 1, 0.5), next_odd + 1
        return _gather(rows)


def _gather(rows: list[tuple[int, int, int, int, float]]) -> Gather:
    a, sign_a, b, sign_b, scale = zip(*rows, strict=True) if rows else ((),) * 5
    return Gather(a, sign_a, b, sign_b, scale)
