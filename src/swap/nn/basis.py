"""Transforms any tensor with a Rep into even and odd coordinates, and back.

The change of basis Q is orthonormal, so the gradient of `split` is `merge` and the gradient of
`merge` is `split`: both directions are gathers, forward and backward, never a scatter.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from swap.errors import UserError
from swap.nn.views import Parts
from swap.symmetry import SQRT_HALF, Gather, Parity, Rep


class Basis(nn.Module):
    """`split` turns a flat tensor into (even, odd); `merge` turns (even, odd) into a flat tensor.

    Regular features are split by a butterfly without its factor 1/√2, so the caller multiplies by
    `scale`. A plain basis (`equivariant=False`) passes one tensor through.
    """

    def __init__(self, rep: Rep, *, equivariant: bool = True) -> None:
        super().__init__()
        self.rep, self.equivariant = rep, equivariant
        self.halved = equivariant and rep.is_regular
        self.scale = SQRT_HALF if self.halved else 1.0
        if equivariant and not self.halved:
            parity = Parity(rep)
            self._store("split", parity.split)
            self._store("merge", parity.merge)
        self._cast: tuple[Tensor, ...] = ()

    def _store(self, name: str, gather: Gather) -> None:
        self.register_buffer(f"{name}_a", torch.tensor(gather.a), persistent=False)
        self.register_buffer(f"{name}_b", torch.tensor(gather.b), persistent=False)
        factors = torch.tensor([gather.sign, gather.scale], dtype=torch.float64)
        self.register_buffer(f"{name}_factors", factors, persistent=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The widths of the parts."""
        return (self.rep.n_even, self.rep.n_odd) if self.equivariant else (self.rep.dim,)

    def _checked(self, x: Tensor) -> Tensor:
        if x.shape[-1] != self.rep.dim:
            raise UserError(
                f"this layer reads {self.rep.dim} features, the tensor has {x.shape[-1]}; "
                f"pass a tensor [..., {self.rep.dim}] in the order of its Rep"
            )
        return x

    def split(self, x: Tensor) -> Parts:
        x = self._checked(x)
        if not self.equivariant:
            return (x,)
        if self.halved:
            return _SplitHalves.apply(x)
        return _Split.apply(x, self.rep.n_even, *self._tables(x))

    def coordinates(self, x: Tensor) -> Tensor:
        """The parts of `split` side by side in one tensor."""
        if torch.is_grad_enabled() or self.halved or not self.equivariant:
            return torch.cat(self.split(x), -1)
        return _gather(self._checked(x), *self._tables(x)[:4])

    def merge(self, parts: Parts) -> Tensor:
        if not self.equivariant:
            return parts[0]
        if self.halved:
            return _MergeHalves.apply(*parts)
        return _Merge.apply(*parts, *self._tables(parts[0]))

    def _tables(self, like: Tensor) -> tuple[Tensor, ...]:
        """`gathers` with signs and scales apart, in the precision of `like`: made once."""
        ready = self._cast
        if ready and ready[2].dtype == like.dtype and ready[2].device == like.device:
            return ready
        a, b, split, c, d, merge = self.gathers
        split, merge = split.to(like.dtype), merge.to(like.dtype)
        made = (a, b, *split.unbind(), c, d, *merge.unbind())
        if not torch.compiler.is_compiling():  # what a tracer makes is no number
            self._cast = made
        return made

    @property
    def gathers(self) -> tuple[Tensor, ...]:
        """The tables of `split`, then those of `merge`; each is a, b, and (signs, scales)."""
        names = [f"{way}_{key}" for way in ("split", "merge") for key in ("a", "b", "factors")]
        return tuple(getattr(self, name) for name in names)


def _gather(x: Tensor, a: Tensor, b: Tensor, sign: Tensor, scale: Tensor) -> Tensor:
    """Add first and scale after, which keeps the mirror exact (see symmetry/parity.py)."""
    return torch.addcmul(x.index_select(-1, a), x.index_select(-1, b), sign).mul_(scale)


class _Split(Function):
    """Entries -> (even, odd)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, n_even: int, *gathers: Tensor) -> Parts:
        ctx.save_for_backward(*gathers)
        coordinates = _gather(x, *gathers[:4])
        # Copies, not views of one tensor, so that each part is aligned in memory.
        return coordinates[..., :n_even].contiguous(), coordinates[..., n_even:].contiguous()

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> Any:
        return _Merge.apply(*grad, *ctx.saved_tensors), None, *[None] * 8


class _Merge(Function):
    """(even, odd) -> entries."""

    @staticmethod
    def forward(ctx: Any, even: Tensor, odd: Tensor, *gathers: Tensor) -> Tensor:
        ctx.save_for_backward(*gathers)
        ctx.n_even = even.shape[-1]
        return _gather(torch.cat((even, odd), -1), *gathers[4:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return *_Split.apply(grad, ctx.n_even, *ctx.saved_tensors), *[None] * 8


class _SplitHalves(Function):
    """[left | right] -> (left + right, left - right)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Parts:
        left, right = x.chunk(2, -1)
        return left + right, left - right

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> Tensor:
        return _MergeHalves.apply(*grad)


class _MergeHalves(Function):
    """(even, odd) -> [even + odd | even - odd]."""

    @staticmethod
    def forward(ctx: Any, even: Tensor, odd: Tensor) -> Tensor:
        n = even.shape[-1]
        x = even.new_empty(*even.shape[:-1], 2 * n)
        torch.add(even, odd, out=x[..., :n])
        torch.sub(even, odd, out=x[..., n:])
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Parts:
        return _SplitHalves.apply(grad)
