"""Splits hidden features into views, and turns views into parities and back (the butterfly).

An equivariant network keeps its hidden features as two tensors of one shape, the left view and the
right view, which trade places under the mirror. Their sum and difference, the even and odd
parities, stay in place. A plain network has one view, and every function here returns it unchanged;
so the same code of each layer serves both kinds.

The two views are never joined inside a network. A feature then has the same position in both
tensors, and a pointwise function gives both the same bits: vectorised code rounds the last few
elements of a tensor differently from the rest.
"""

import torch
from torch import Tensor, nn

from swap.errors import UserError

Parts = tuple[Tensor, ...]
"""(left, right) views or (even, odd) coordinates of an equivariant network; (x,) of a plain one."""


def butterfly(parts: Parts) -> Parts:
    """Turn (left, right) into (even, odd), or (even, odd) into (left, right), up to a factor √2.

    `Linear` folds the factor into its weights, which are smaller than a batch. Mirroring leaves
    a + b the same float, because addition commutes, and negates a - b exactly.
    """
    if len(parts) == 1:
        return parts
    a, b = parts
    return a + b, a - b


def cat(*several: Parts) -> Parts:
    """Join features of several sources, view by view."""
    return tuple(torch.cat(same, -1) for same in zip(*several, strict=True))


def views_of(x: Tensor, equivariant: bool) -> Parts:
    """The views of a flat tensor of regular features."""
    return tuple(x.chunk(2, -1)) if equivariant else (x,)


def per_view(parameter: nn.Parameter, n_views: int) -> Parts:
    """A parameter that the views share, repeated once per view.

    The backward pass then adds the two views' gradients to each other before anything else, a sum
    that does not depend on which view is which, even when a recurrent cell adds up many of them.
    """
    if n_views == 1:
        return (parameter,)
    return parameter.expand(n_views, *parameter.shape).unbind(0)


def halves(width: int, what: str) -> int:
    """Half of `width`; UserError if it is odd, because features come in mirrored pairs."""
    if width <= 0 or width % 2:
        raise UserError(
            f"{what}={width} is {'odd' if width % 2 else 'not positive'}; "
            f"mirrored features come in pairs, use {max(2, width + width % 2)}"
        )
    return width // 2
