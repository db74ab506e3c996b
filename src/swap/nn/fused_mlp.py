"""Runs an `MLP` with one batched product per layer and one kernel for everything between products.

As separate operations a hidden layer takes eleven launches forward; here it takes three. The bases'
scales are folded into the kernels, so the weights are read as they are.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from swap.nn import fused_basis, fused_hidden
from swap.nn.fused_hidden import HiddenCfg, hidden, parts_of
from swap.nn.norm import RMSNorm
from swap.nn.views import Parts

if TYPE_CHECKING:
    from swap.nn.linear import Linear
    from swap.nn.mlp import MLP


LONG = 4096
"""From this many rows on, one product per part is the faster way to the weights' gradient in fp32.
In bf16 a batched one is, at all lengths."""
BUTTERFLY = HiddenCfg(join=False)
"""Turns views into parities, or parities into views."""


def usable(mlp: "MLP", *inputs: Tensor) -> bool:
    """Whether the kernels can run this network. A plain one without norms has nothing to fuse: each
    layer is a product and an activation."""
    return (mlp.equivariant or mlp.normed) and fused_hidden.usable(*inputs)


def linear_fits(layer: "Linear", x: Tensor) -> bool:
    """Whether the kernels can run this layer, which must map regular features to regular ones."""
    return layer.source.halved and layer.target.halved and fused_hidden.usable(x)


def linear(layer: "Linear", x: Tensor) -> Tensor:
    """Run one layer alone, on features [..., d]."""
    y = _leave(layer, join_parities(x))
    return y.view(*x.shape[:-1], y.shape[-1])


def parities(layer: "Linear", x: Tensor) -> Tensor:
    """The parities [V, ..., d] of the layer's output for features [..., d]; it has no bias."""
    scale = layer.source.scale * layer.target.scale
    read = join_parities(x, views=len(layer.weight))
    y = torch.bmm(read, (stack(read.dtype, *layer.weight) * scale).mT)
    return y.unflatten(1, x.shape[:-1])


def from_features(mlp: "MLP", x: Tensor) -> Tensor:
    """The network's output for features [..., d]."""
    first = mlp.layers[0]
    if first.source.halved:
        y = product(join_parities(x), first.weight)
        return _go_on(mlp, y, x.shape[:-1])
    return from_parts(mlp, first.source.split(x))


def from_parts(mlp: "MLP", parts: Parts) -> Tensor:
    """The network's output for even and odd coordinates."""
    flat, weights = [_flat(x) for x in parts], mlp.layers[0].weight
    if len(flat) == 1:
        y = product(flat[0].unsqueeze(0), weights)
    else:
        y = _Enter.apply(*_cast(*flat, *weights))
    return _go_on(mlp, y, parts[0].shape[:-1])


def from_padded(mlp: "MLP", x: Tensor) -> Tensor:
    """The network's output for parts side by side, [..., V p], each padded with zeros."""
    (flat,), weights = _cast(_flat(x)), [*mlp.layers[0].weight]
    parts = parts_of(flat, len(weights))
    y = multiply(parts, _Stacked.apply(flat.dtype, parts.shape[-1], *weights))
    return _go_on(mlp, y, x.shape[:-1])


def from_several(mlp: "MLP", several: Sequence[Tensor]) -> Tensor:
    """The network's output for regular features of several sources, joined view by view."""
    views = len(mlp.layers[0].weight)
    y = product(join_parities(*several, views=views), mlp.layers[0].weight)
    return _go_on(mlp, y, several[0].shape[:-1])


def _go_on(mlp: "MLP", y: Tensor, lead: Sequence[int]) -> Tensor:
    """Run everything after the first product."""
    for k, (layer, norm) in enumerate(zip(mlp.layers, mlp.norms, strict=True)):
        last = k == len(mlp.layers) - 1
        cfg = _hidden_cfg(layer, mlp.act_name)
        gain = norm.gain if isinstance(norm, RMSNorm) else None
        if isinstance(norm, RMSNorm):
            cfg = cfg._replace(eps=norm.eps)
        y = hidden(y, cfg._replace(join=not last or mlp.out is not None), layer.bias, gain)
        if not last:
            y = product(y, mlp.layers[k + 1].weight)
    if mlp.out is not None:
        y = _leave(mlp.out, y)
    return y.view(*lead, y.shape[-1])


def _hidden_cfg(layer: "Linear", act: str) -> HiddenCfg:
    scale = layer.source.scale * layer.target.scale
    return HiddenCfg(act, scale=scale, bias_scale=layer.target.scale)


def product(x: Tensor, weights: Iterable[Tensor]) -> Tensor:
    """Multiply parities [V, N, in] by a layer's weights: [V, N, out]."""
    (x,) = _cast(x)
    return multiply(x, stack(x.dtype, *weights))


def multiply(x: Tensor, weight: Tensor) -> Tensor:
    """x [V, N, in] times weight [V, out, in] transposed: [V, N, out]."""
    if x.shape[1] < LONG or x.dtype != torch.float32:
        return torch.bmm(x, weight.mT)
    out: Tensor = _Product.apply(x, weight)
    return out


def weight_gradient(dy: Tensor, x: Tensor) -> Tensor:
    """The gradient [V, out, in] from dy [V, N, out] and x [V, N, in], summed over the rows.

    It takes one product per part: a GPU's library splits one long sum among many blocks, but not
    the sums of a batched product.
    """
    out = dy.new_empty(len(dy), dy.shape[-1], x.shape[-1])
    for d, part, total in zip(dy, x, out, strict=True):
        torch.mm(d.t(), part, out=total)
    return out


def stack(dtype: torch.dtype, *weights: Tensor) -> Tensor:
    """Stack the parts' weights [out, in] as [V, out, in]."""
    if len(weights) == 1:
        return weights[0].to(dtype).unsqueeze(0)
    return _Stacked.apply(dtype, weights[0].shape[1], *weights)


def _flat(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1])


def join_parities(*several: Tensor, views: int = 2) -> Tensor:
    """The parities of regular features [..., V d] of several sources, side by side: [V, N, sum of
    d]. In a plain network (one view) the features are joined as they are."""
    flat = [_flat(x) for x in several]
    if views == 1:
        flat = _cast(*flat)
        return (flat[0] if len(flat) == 1 else torch.cat(flat, -1)).unsqueeze(0)
    out: Tensor = _Parities.apply(_product_dtype(flat[0]), *flat)
    return out


def _leave(layer: "Linear", x: Tensor) -> Tensor:
    """Apply the last layer to parities [V, N, d]; the result has any Rep, [N, ...]."""
    cfg = _hidden_cfg(layer, "identity")
    if len(x) == 1 or layer.target.halved:
        return hidden(product(x, layer.weight), cfg._replace(join=False), layer.bias)
    coordinates = _Leave.apply(*_cast(x, *layer.weight))
    return fused_basis.merge(
        layer.target, coordinates, layer.bias, scale=cfg.scale, bias_scale=cfg.bias_scale
    )


def _product_dtype(x: Tensor) -> torch.dtype:
    """Autocast's dtype where it is on, else that of x."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def _cast(*several: Tensor) -> list[Tensor]:
    dtype = _product_dtype(several[0])
    return [x.to(dtype) for x in several]


class _Parities(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *several: Tensor) -> Tensor:
        ctx.sizes, ctx.dtype = [x.shape[-1] // 2 for x in several], several[0].dtype
        out = several[0].new_empty(2, len(several[0]), sum(ctx.sizes), dtype=dtype)
        for x, part in zip(several, out.split(ctx.sizes, -1), strict=True):
            fused_hidden.run_forward(parts_of(x, 2), part, BUTTERFLY)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        return None, *_Features.apply(ctx.dtype, dout, ctx.sizes)


class _Features(torch.autograd.Function):
    """The inverse of `_Parities`, and its gradient: a butterfly is its own transpose."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, x: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
        ctx.dtype = x.dtype
        several = tuple(x.new_empty(x.shape[1], 2 * size, dtype=dtype) for size in sizes)
        for part, out in zip(x.split(sizes, -1), several, strict=True):
            fused_hidden.run_forward(part, parts_of(out, 2), BUTTERFLY)
        return several

    @staticmethod
    def backward(ctx: Any, *dout: Tensor) -> Any:
        return None, _Parities.apply(ctx.dtype, *(d.contiguous() for d in dout)), None


class _Stacked(torch.autograd.Function):
    """Stacks the parts' weights [out, in] as [V, out, width], padded with zeros where needed."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, width: int, *weights: Tensor) -> Tensor:
        ctx.sizes, ctx.dtype = [weight.shape[1] for weight in weights], weights[0].dtype
        if set(ctx.sizes) == {width}:
            return torch.stack(weights).to(dtype)
        out = weights[0].new_zeros((len(weights), len(weights[0]), width), dtype=dtype)
        places = [part[:, :size] for part, size in zip(out, ctx.sizes, strict=True)]
        torch._foreach_copy_(places, list(weights))
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        parts = dout.to(ctx.dtype)
        # Contiguous: a single strided gradient would keep all from being summed in one launch.
        cut = (d[:, :size].contiguous() for d, size in zip(parts, ctx.sizes, strict=True))
        return None, None, *cut


class _Product(torch.autograd.Function):
    """`multiply`, with `weight_gradient` in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight.mT)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        dx = torch.bmm(dy, weight) if ctx.needs_input_grad[0] else None
        if torch.is_grad_enabled():  # to be differentiated again
            return dx, torch.bmm(dy.mT, x)
        return dx, weight_gradient(dy, x) if ctx.needs_input_grad[1] else None


class _Enter(torch.autograd.Function):
    """The first product: even and odd entries, whose widths may differ, to parities [2, N, d]."""

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
    """The last product: parities [2, N, d] to coordinates, even ones first, of different widths."""

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
