"""Defines representations of the mirror: how a vector changes when left and right trade places.

The group has two elements, so a representation is one matrix P with P P = 1. All of ours are
signed permutations: `mirror(x)[i] = sign[i] * x[perm[i]]`. They compose as vector spaces do:

    trivial(3)              unchanged                       signs(1, -1, 1)    a polar vector
    flip(11)                a row of 11, reversed           regular(4)         two halves, swapped
    a + b                   side by side                    a * 5              five times a
    a @ b                   a tensor b (b varies fastest)   abs(a)             a without its signs
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from swap.errors import UserError


@dataclass(frozen=True)
class Rep:
    """A signed permutation that is its own inverse. Call it on a tensor to mirror the last axis."""

    perm: tuple[int, ...]
    sign: tuple[int, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n = len(self.perm)
        if len(self.sign) != n:
            raise UserError(f"{n} positions but {len(self.sign)} signs; give one sign a position")
        if sorted(self.perm) != list(range(n)):
            raise UserError(f"perm {_short(self.perm)} is no permutation of 0..{n - 1}")
        if any(s not in (1, -1) for s in self.sign):
            raise UserError(f"signs must be 1 or -1, not {_short(self.sign)}")
        for i, j in enumerate(self.perm):
            if self.perm[j] != i or self.sign[i] != self.sign[j]:
                raise UserError(
                    f"mirroring twice must change nothing, but position {i} goes to {j} "
                    f"(sign {self.sign[i]:+d}) and {j} to {self.perm[j]} (sign {self.sign[j]:+d}); "
                    "pair both with each other and give them one sign"
                )
        # Reps are cache keys on hot paths, where hashing a thousand integers each time is slow.
        object.__setattr__(self, "_hash", hash((self.perm, self.sign)))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Rep(dim={self.dim}, even={self.n_even}, odd={self.n_odd})"

    # --- what it is -----------------------------------------------------------------------------
    @property
    def dim(self) -> int:
        return len(self.perm)

    @cached_property
    def trace(self) -> int:
        """The trace of P: the number of even coordinates minus the number of odd ones."""
        return sum(s for i, (j, s) in enumerate(zip(self.perm, self.sign, strict=True)) if i == j)

    @property
    def n_even(self) -> int:
        return (self.dim + self.trace) // 2

    @property
    def n_odd(self) -> int:
        return (self.dim - self.trace) // 2

    @property
    def is_regular(self) -> bool:
        """Whether this is two halves that trade places, as hidden features are."""
        return self.dim > 0 and self == regular(self.dim // 2)

    @property
    def matrix(self) -> np.ndarray:
        P = np.zeros((self.dim, self.dim))
        P[np.arange(self.dim), list(self.perm)] = self.sign
        return P

    # --- how it acts ----------------------------------------------------------------------------
    def __call__(self, x: Tensor) -> Tensor:
        """Mirror the last axis. This is exact: entries are moved and negated, never rounded."""
        if x.shape[-1] != self.dim:
            raise UserError(
                f"the last axis has {x.shape[-1]} entries, this Rep mirrors {self.dim}; "
                "pass the tensor its layout describes"
            )
        index, sign = _tensors(self, x.device, x.dtype)
        return x.index_select(-1, index) * sign

    # --- how it composes ------------------------------------------------------------------------
    def __add__(self, other: "Rep") -> "Rep":
        return Rep(self.perm + tuple(j + self.dim for j in other.perm), self.sign + other.sign)

    def __mul__(self, times: int) -> "Rep":
        if times < 0:
            raise UserError(f"cannot repeat a Rep {times} times; use 0 or more")
        perm = tuple(k * self.dim + j for k in range(times) for j in self.perm)
        return Rep(perm, self.sign * times)

    __rmul__ = __mul__

    def __matmul__(self, other: "Rep") -> "Rep":
        return _tensor_product(self, other)

    def __abs__(self) -> "Rep":
        """The Rep of magnitudes of this one's entries (gains, variances): moved, never negated."""
        return Rep(self.perm, (1,) * self.dim)


# An image has thousands of entries, and every space of every environment has the same few Reps.
@lru_cache(maxsize=512)
def _tensor_product(a: Rep, b: Rep) -> Rep:
    n = b.dim
    perm = tuple([i * n + j for i in a.perm for j in b.perm])
    return Rep(perm, tuple([s * t for s in a.sign for t in b.sign]))


@lru_cache(maxsize=512)
def _tensors(rep: Rep, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    index = torch.tensor(rep.perm, dtype=torch.long, device=device)
    return index, torch.tensor(rep.sign, device=device).to(dtype)


@lru_cache(maxsize=512)
def trivial(n: int = 1) -> Rep:
    """`n` numbers that a mirror leaves unchanged: masses, friction, a row ahead of the robot."""
    return Rep(tuple(range(n)), (1,) * n)


def signs(*sign: int) -> Rep:
    """Numbers that stay in place, some of them negated: `signs(1, -1, 1)` is a vector (x, y, z)."""
    return Rep(tuple(range(len(sign))), sign)


def flip(n: int) -> Rep:
    """A row of `n` numbers from left to right, which a mirror reverses."""
    return Rep(tuple(reversed(range(n))), (1,) * n)


@lru_cache(maxsize=512)
def regular(pairs: int) -> Rep:
    """`pairs` left features followed by `pairs` right ones; a mirror swaps the two halves.

    The paper's F_l alternates them (left, right, left, right). Halves are the same up to order, and
    each half is a plain slice.
    """
    return flip(2) @ trivial(pairs)


def _short(values: tuple[int, ...]) -> str:
    text = ", ".join(map(str, values[:8]))
    return f"({text}, ...)" if len(values) > 8 else f"({text})"
