"""Checks that a network of the user's has the promised outputs and obeys the mirror, or says in one
line what is wrong.

It is tried on random inputs and on their mirror images, with random weights: a constraint must
hold whatever is learned, and first weights may be zero where it does not.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.registry import guarded
from swap.symmetry import Rep

LEAD = (2, 3)
"""Leading dimensions of what is tried: networks are given batches of batches."""
SHAKE = 0.1
"""Standard deviation of what is added to weights."""
LIMIT = 1e-4
"""Of the largest output. Rounding is far below, and a broken mirror far above."""

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
    """`shapes` of the inputs, after any leading dimensions, and how each is mirrored; without
    `mirrors` only the output's shape is checked. `plain`: the option for networks without them."""
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
