"""An `MLP` whose layers are a product for both parities and one kernel for all that lies between.

Step by step a hidden layer is eleven launches forth; here it is three. The bases' scales are folded
into the kernels instead of the weights, which are then read as they are.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from swap.nn import fused_basis, fused_hidden
from swap.nn.fused_hidden import Between, hidden, parts_of
from swap.nn.linear import Linear
from swap.nn.norm import RMSNorm
from swap.nn.views import Parts

if TYPE_CHECKING:
    from swap.nn.mlp import MLP


BUTTERFLY = Between(join=False)
"""Views to parities, or back."""


def usable(mlp: "MLP", *inputs: Tensor) -> bool:
    """A plain network without norms is a product and an activation a layer as it is."""
    return (mlp.equivariant or mlp.normed) and fused_hidden.usable(*inputs)


def from_features(mlp: "MLP", x: Tensor) -> Tensor:
    """Features [..., d] -> what the network makes of them."""
    first = mlp.layers[0]
    if first.source.halved:
        y = product(join_parities(x), first.weight)
        return _go_on(mlp, y, x.shape[:-1])
    return from_parts(mlp, first.source.split(x))


def from_parts(mlp: "MLP", parts: Parts) -> Tensor:
    """The same from even and odd coordinates."""
    flat, weights = [_flat(x) for x in parts], mlp.layers[0].weight
    if len(flat) == 1:
        y = product(flat[0].unsqueeze(0), weights)
    else:
        y = _Enter.apply(*_cast(*flat, *weights))
    return _go_on(mlp, y, parts[0].shape[:-1])


def from_padded(mlp: "MLP", x: Tensor) -> Tensor:
    """The same from parts side by side, [..., V p], each of them followed by zeros."""
    flat, *weights = _cast(_flat(x), *mlp.layers[0].weight)
    parts = parts_of(flat, len(weights))
    y = torch.bmm(parts, _Padded.apply(parts.shape[-1], *weights).mT)
    return _go_on(mlp, y, x.shape[:-1])


def from_several(mlp: "MLP", several: Sequence[Tensor]) -> Tensor:
    """The same from regular features of several sources, view by view side by side."""
    views = len(mlp.layers[0].weight)
    y = product(join_parities(*several, views=views), mlp.layers[0].weight)
    return _go_on(mlp, y, several[0].shape[:-1])


def _go_on(mlp: "MLP", y: Tensor, lead: Sequence[int]) -> Tensor:
    """What comes after the first product."""
    for k, (layer, norm) in enumerate(zip(mlp.layers, mlp.norms, strict=True)):
        last = k == len(mlp.layers) - 1
        cfg = _between(layer, mlp.act_name)
        gain = norm.gain if isinstance(norm, RMSNorm) else None
        if isinstance(norm, RMSNorm):
            cfg = cfg._replace(eps=norm.eps)
        y = hidden(y, cfg._replace(join=not last or mlp.out is not None), layer.bias, gain)
        if not last:
            y = product(y, mlp.layers[k + 1].weight)
    if mlp.out is not None:
        y = _leave(mlp.out, y)
    return y.view(*lead, y.shape[-1])


def _between(layer: Linear, act: str) -> Between:
    scale = layer.source.scale * layer.target.scale
    return Between(act, scale=scale, bias_scale=layer.target.scale)


def product(x: Tensor, weights: Iterable[Tensor]) -> Tensor:
    """Parities [V, N, in] -> [V, N, out]."""
    x, *cast = _cast(x, *weights)
    weight = cast[0].unsqueeze(0) if len(cast) == 1 else torch.stack(cast)
    return torch.bmm(x, weight.mT)


def _flat(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1])


def join_parities(*several: Tensor, views: int = 2) -> Tensor:
    """Regular features [..., V d] of some sources -> their parities side by side, [V, N, sum of d];
    views side by side, if there is one."""
    flat = _cast(*(_flat(x) for x in several))
    if views == 1:
        return (flat[0] if len(flat) == 1 else torch.cat(flat, -1)).unsqueeze(0)
    out: Tensor = _Parities.apply(*flat)
    return out


def _leave(layer: Linear, x: Tensor) -> Tensor:
    """Parities [V, N, d] of hidden features -> features of any Rep, [N, ...]."""
    cfg = _between(layer, "identity")
    if len(x) == 1 or layer.target.halved:
        return hidden(product(x, layer.weight), cfg._replace(join=False), layer.bias)
    coordinates = _Leave.apply(*_cast(x, *layer.weight))
    return fused_basis.merge(
        layer.target, coordinates, layer.bias, scale=cfg.scale, bias_scale=cfg.bias_scale
    )


def _cast(*several: Tensor) -> list[Tensor]:
    """To what autocast asks for, as its own products would do."""
    kind = several[0].device.type
    if not torch.is_autocast_enabled(kind):
        return list(several)
    return [x.to(torch.get_autocast_dtype(kind)) for x in several]


class _Parities(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *several: Tensor) -> Tensor:
        ctx.sizes = [x.shape[-1] // 2 for x in several]
        out = several[0].new_empty(2, len(several[0]), sum(ctx.sizes))
        for x, part in zip(several, out.split(ctx.sizes, -1), strict=True):
            fused_hidden.forth(parts_of(x, 2), part, BUTTERFLY)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        return _Features.apply(dout, ctx.sizes)


class _Features(torch.autograd.Function):
    """The other way: a butterfly is its own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
        several = tuple(x.new_empty(x.shape[1], 2 * size) for size in sizes)
        for part, out in zip(x.split(sizes, -1), several, strict=True):
            fused_hidden.forth(part, parts_of(out, 2), BUTTERFLY)
        return several

    @staticmethod
    def backward(ctx: Any, *dout: Tensor) -> Any:
        return _Parities.apply(*(d.contiguous() for d in dout)), None


class _Padded(torch.autograd.Function):
    """Weights [out, in] of the parts -> [V, out, width], with zeros behind."""

    @staticmethod
    def forward(ctx: Any, width: int, *weights: Tensor) -> Tensor:
        ctx.sizes = [weight.shape[1] for weight in weights]
        out = weights[0].new_zeros(len(weights), len(weights[0]), width)
        places = [part[:, :size] for part, size in zip(out, ctx.sizes, strict=True)]
        torch._foreach_copy_(places, list(weights))
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        return None, *(d[:, :size] for d, size in zip(dout, ctx.sizes, strict=True))


class _Enter(torch.autograd.Function):
    """Even and odd entries, of which there may be different numbers -> parities [2, N, d]."""

    @staticmethod
    def forward(ctx: Any, even: Tensor, odd: Tensor, *weights: Tensor) -> Tensor:
        ctx.save_for_backward(even, odd, *weights)
        y = even.new_empty(2, len(even), len(weights[0]))
        for x, weight, out in zip((even, odd), weights, y, strict=True):
            torch.mm(x, weight.t(), out=out)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        saved, wanted = ctx.saved_tensors, ctx.needs_input_grad
        parts, weights = saved[:2], saved[2:]
        return (
            *(d @ w if n else None for d, w, n in zip(dy, weights, wanted[:2], strict=True)),
            *(d.t() @ x if n else None for d, x, n in zip(dy, parts, wanted[2:], strict=True)),
        )


class _Leave(torch.autograd.Function):
    """Parities [2, N, d] -> coordinates, even ones first, as many of each as there are."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        ctx.save_for_backward(x, *weights)
        ctx.sizes = [len(weight) for weight in weights]
        y = x.new_empty(x.shape[1], sum(ctx.sizes))
        for part, weight, out in zip(x, weights, y.split(ctx.sizes, -1), strict=True):
            if len(weight):
                torch.mm(part, weight.t(), out=out)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        x, *weights = ctx.saved_tensors
        parts = dy.split(ctx.sizes, -1)
        if torch.is_grad_enabled():  # to be differentiated again
            dx = torch.stack([d @ w for d, w in zip(parts, weights, strict=True)])
        else:
            dx = torch.empty_like(x)
            for d, weight, out in zip(parts, weights, dx, strict=True):
                torch.mm(d, weight, out=out)
        return dx, *(d.t() @ part for d, part in zip(parts, x, strict=True))
