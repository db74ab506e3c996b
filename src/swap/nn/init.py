"""Initialises weights so that features keep their mean square from layer to layer, at any depth.

If an activation of a standard normal has mean square m, the layer after it multiplies by 1/√m. In
an equivariant layer each row reads only half of the input, so rows that feed pairs get std
gain·√(2/d_in), and rows that feed one fixed output get gain/√(coordinates read). (A dense
initialisation projected onto the equivariant maps would halve the mean square in every layer.)
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.errors import unknown
from swap.symmetry import Parity, Rep

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": F.elu,
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}


def activation(name: str) -> Callable[[Tensor], Tensor]:
    if name not in ACTIVATIONS:
        raise unknown("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]


@cache
def gain(name: str) -> float:
    """1/√E[f(x)²] for standard normal x, by quadrature."""
    x = torch.linspace(-12, 12, 24001, dtype=torch.float64)
    density = torch.exp(-(x**2) / 2)
    power = (activation(name)(x) ** 2 * density).sum() / density.sum()
    return float(power.rsqrt())


def row_std(rep_in: Rep, rep_out: Rep, part: int) -> Tensor:
    """The std of each row of the even (0) or odd (1) weight, for inputs of unit mean square."""
    out = Parity(rep_out)
    n_read = (rep_in.n_even, rep_in.n_odd)[part]
    n_rows = (rep_out.n_even, rep_out.n_odd)[part]
    pairs = torch.full((len(out.pairs),), (2 / max(rep_in.dim, 1)) ** 0.5)
    fixed = torch.full((n_rows - len(out.pairs),), max(n_read, 1) ** -0.5)
    return torch.cat((pairs, fixed))
