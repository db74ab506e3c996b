"""How far a function is from obeying the mirror."""

from collections.abc import Callable

from torch import Tensor

from swap.symmetry.rep import Rep


def equivariance_error(
    f: Callable[[Tensor], Tensor], x: Tensor, rep_in: Rep, rep_out: Rep
) -> float:
    """The largest |f(mirror x) - mirror f(x)|. Zero: equal to the last bit; NaN is passed on."""
    return float((f(rep_in(x)) - rep_out(f(x))).detach().abs().max())
