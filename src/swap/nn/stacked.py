"""Keeps both views in one tensor [..., V, d], so that the layers of a loop take half the launches.

The time of a recurrent loop on a GPU is that of its launches, so here a layer is one product, one
norm, one butterfly and one non-linearity for both views together. The mirror stays exact, because

- parities stay in place: mirroring only negates the odd ones, which changes no rounding in a
  product or in a norm over even and odd together, in whatever order they add;
- pointwise functions act on views, which do trade places, and could round differently by position.
  On a GPU they do not; on a CPU they are called once per view (`pointwise`).

V is 2, or 1 in a plain network, where the butterfly does nothing.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function

from swap.nn.linear import Linear
from swap.nn.norm import RMSNorm
from swap.nn.views import Parts


class StackedLinear:
    """A `Linear` between regular features and the norm after it, with the weights stacked once.

    Make it once per pass and call it at every step: it maps parities [B, V, in] to parities
    [B, V, out], whose butterfly gives the features. `add` [V, B, out] is added before the norm: the
    output of another layer that was run on all steps at once.
    """

    def __init__(self, layer: Linear, norm: RMSNorm | None = None) -> None:
        sizes = {*layer.source.sizes[1:], *layer.target.sizes[1:]}
        assert not layer.equivariant or sizes == {layer.source.sizes[0], layer.target.sizes[0]}
        views = len(layer.weight)
        scale = layer.source.scale * layer.target.scale
        self.weight = (torch.stack([*layer.weight]) * scale).mT  # [V, in, out]
        self.bias = None
        if layer.bias is not None:  # on the even part alone
            none = [torch.zeros_like(layer.bias)] * (views - 1)
            self.bias = torch.stack([layer.bias, *none]).unsqueeze(1) * layer.target.scale
        # The mean square of the features is V times that of these parities.
        self.gain = None if norm is None else torch.cat([norm.gain] * views) * views**-0.5
        self.eps = 0.0 if norm is None else norm.eps / views

    def __call__(self, x: Tensor, add: Tensor | None = None) -> Tensor:
        x, add = x.transpose(0, 1), self.bias if add is None else add
        y = torch.bmm(x, self.weight) if add is None else torch.baddbmm(add, x, self.weight)
        y = y.transpose(0, 1)  # [B, V, out]
        if self.gain is None:
            return y
        return F.rms_norm(y.flatten(1), self.gain.shape, self.gain, self.eps).view(y.shape)


def stack_views(parts: Parts) -> Tensor:
    """Stack the parities of all steps, [..., d] each, as [V, ..., d]; each step is an `add`."""
    return torch.stack(parts)


def split_views(x: Tensor, equivariant: bool) -> Tensor:
    """Flat regular features [..., left | right] as views [..., V, d]."""
    return x.unflatten(-1, (2 if equivariant else 1, -1))


def pointwise(f: Callable[..., Tensor], *several: Tensor) -> Tensor:
    """Apply a pointwise f to one or several tensors [..., V, d]; on a CPU view by view."""
    if several[0].is_cuda or several[0].shape[-2] == 1:
        return f(*several)
    return torch.stack(
        [f(*same) for same in zip(*(x.unbind(-2) for x in several), strict=True)], -2
    )


class Butterfly(nn.Module):
    """Turns views [..., V, d] into parities or parities into views, up to √2, in one launch."""

    sign: Tensor

    def __init__(self, *, equivariant: bool = True) -> None:
        super().__init__()
        self.equivariant = equivariant
        self.register_buffer("sign", torch.tensor([[1.0], [-1.0]]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return _Butterfly.apply(x, self.sign.to(x.dtype)) if self.equivariant else x


class _Butterfly(Function):
    """The butterfly is a symmetric matrix, so its gradient is the butterfly again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sign: Tensor) -> Tensor:
        ctx.save_for_backward(sign)
        # A product with ±1 is exact, so this is exactly a + b and a - b, fused or not.
        return torch.addcmul(x[..., :1, :], x[..., 1:, :], sign)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> Any:
        return _Butterfly.apply(*grad, *ctx.saved_tensors), None
