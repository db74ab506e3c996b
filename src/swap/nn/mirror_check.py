"""Checks that a user's network has outputs of the right shape and is equivariant; says in one line
what is wrong.

It runs the network on random inputs and on their mirror images. Random numbers are added to the
weights first: the network must be equivariant whatever it learns, and initial weights of zero could
hide that it is not.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.registry import guarded
from swap.symmetry import Rep

LEAD = (2, 3)
"""Leading dimensions of the inputs: networks must accept more than one batch axis."""
SHAKE = 0.1
"""Standard deviation of the noise that is added to the weights."""
LIMIT = 1e-4
"""Allowed error, relative to the largest output: rounding is far below it, a broken mirror above.
"""

Mirror = Callable[[Tensor], Tensor]


@torch.no_grad()
def check_network(
    net: object,
    shapes: Sequence[tuple[int, ...]],
    mirrors: Sequence[Mirror] | None,
    rep_out: Rep,
    *,
    what: str,
    plain: str,
) -> None:
    """Raise a UserError if the network fails. `shapes` are those of the inputs without leading
    dimensions, and `mirrors` mirror them; without `mirrors` only the output's shape is checked.
    `plain` is the option that allows a network that is not equivariant."""
    if not isinstance(net, nn.Module):
        raise UserError(f"{what} builds a {type(net).__name__}; build a torch.nn.Module")
    generator = torch.Generator().manual_seed(0)
    shaken = copy.deepcopy(net).eval()
    for p in shaken.parameters():
        p.add_(SHAKE * torch.randn(p.shape, generator=generator).to(p))
    run = guarded(shaken, what, type(net).forward)
    inputs = [torch.randn(*LEAD, *shape, generator=generator) for shape in shapes]
    here = run(*inputs)
    wanted = [*LEAD, rep_out.dim]
    if not isinstance(here, Tensor) or list(here.shape) != wanted:
        gives = list(here.shape) if isinstance(here, Tensor) else type(here).__name__
        raise UserError(f"{what} gives {gives} for a batch of {list(LEAD)}; give {wanted}")
    if mirrors is None:
        return
    there = run(*(mirror(x) for mirror, x in zip(mirrors, inputs, strict=True)))
    error, largest = float((there - rep_out(here)).abs().max()), float(here.abs().max())
    if not error <= LIMIT * largest:  # NaN, too
        raise UserError(
            f"{what} breaks the mirror: its outputs, of up to {largest:.2g}, are off by "
            f"{error:.2g} where inputs are mirrored; build it of swap.nn layers, "
            f"or do without: {plain}"
        )
