"""Hidden features as views, and the butterfly between views and parities.

An equivariant network keeps its hidden features as two tensors of one shape, the left view and the
right view, which trade places under the mirror. A plain network has one view, and every function
here leaves it alone: this is why each layer below serves both kinds with the same lines.

The two views are never joined inside a network. A pointwise function then meets a feature at the
same place in memory on both sides, and gives the same bits: vectorised code rounds the last few
elements of a tensor differently from the rest.
"""

import torch
from torch import Tensor, nn

from swap.errors import UserError

Parts = tuple[Tensor, ...]
"""(left, right) views or (even, odd) coordinates of an equivariant network; (x,) of a plain one."""


def butterfly(parts: Parts) -> Parts:
    """(left, right) -> (even, odd), and (even, odd) -> (left, right): up to √2 its own inverse.

    `Linear` carries the factor in its weights, which are smaller than a batch. Mirroring leaves
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
    """A flat tensor of regular features -> its views."""
    return tuple(x.chunk(2, -1)) if equivariant else (x,)


def per_view(parameter: nn.Parameter, n_views: int) -> Parts:
    """A tied parameter, once for each view.

    Backward then adds the two views' gradients to each other before anything else: a sum that does
    not depend on which view is which, even when a recurrent cell adds up many of them.
    """
    if n_views == 1:
        return (parameter,)
    return parameter.expand(n_views, *parameter.shape).unbind(0)


def halves(width: int, what: str) -> int:
    """Features come in mirrored pairs: half of `width`, or a line that says which width to use."""
    if width <= 0 or width % 2:
        raise UserError(
            f"{what}={width} is {'odd' if width % 2 else 'not positive'}; "
            f"mirrored features come in pairs, use {max(2, width + width % 2)}"
        )
    return width // 2
