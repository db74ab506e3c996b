"""A multi-layer perceptron from any Rep to any Rep, with hidden features in views."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.nn import fused_mlp
from swap.nn.init import activation, gain
from swap.nn.linear import Linear
from swap.nn.norm import RMSNorm
from swap.nn.views import Parts, butterfly, cat, halves, views_of
from swap.symmetry import Rep, regular


class MLP(nn.Module):
    """Maps `rep_in` through hidden layers to `rep_out`; without `rep_out` it returns the last
    hidden features.

    Widths count both views: `hidden=(256, 128)` is as wide as a plain 256-128 network.
    """

    layers: Sequence[Linear]
    norms: Sequence[RMSNorm | nn.Identity]
    out: Linear | None

    def __init__(
        self,
        rep_in: Rep,
        hidden: Sequence[int],
        rep_out: Rep | None = None,
        *,
        act: str = "elu",
        norm: bool = False,
        out_gain: float = 1.0,
        equivariant: bool = True,
    ) -> None:
        super().__init__()
        if not hidden:
            raise UserError("an MLP needs a hidden width; for none use Linear(rep_in, rep_out)")
        self.act, self.act_name, self.normed = activation(act), act, norm
        self.hidden, self.equivariant = tuple(hidden), equivariant
        layers, norms = [], []
        rep, strength = rep_in, 1.0
        for width in hidden:
            wide = regular(halves(width, "hidden width"))
            layer = Linear(rep, wide, bias=not norm, gain=strength, equivariant=equivariant)
            layers.append(layer)
            norms.append(RMSNorm(width, equivariant=equivariant) if norm else nn.Identity())
            rep, strength = wide, gain(act)
        self.layers = nn.ModuleList(layers)  # type: ignore[assignment]
        self.norms = nn.ModuleList(norms)  # type: ignore[assignment]
        self.rep_in, self.rep_out = rep_in, rep if rep_out is None else rep_out
        self.out = None
        if rep_out is not None:
            self.out = Linear(rep, rep_out, gain=strength * out_gain, equivariant=equivariant)

    def forward(self, x: Tensor) -> Tensor:
        if fused_mlp.usable(self, x):
            return fused_mlp.from_features(self, x)
        return self.from_parts(self.split(x))

    def split(self, x: Tensor) -> Parts:
        """The input in the coordinates of the first layer. If one input is read many times, split
        it once and call `from_parts` each time."""
        return self.layers[0].source.split(x)

    def from_parts(self, parts: Parts) -> Tensor:
        if fused_mlp.usable(self, *parts):
            return fused_mlp.from_parts(self, parts)
        views = parts
        for layer, norm in zip(self.layers, self.norms, strict=True):
            views = norm(butterfly(layer.parts(parts)))
            views = tuple(self.act(v) for v in views)
            parts = butterfly(views)
        if self.out is None:
            return torch.cat(views, -1)
        return self.out.target.merge(self.out.parts(parts))

    def from_several(self, *several: Tensor) -> Tensor:
        """Run on regular features of several sources, which are joined view by view."""
        if fused_mlp.usable(self, *several):
            return fused_mlp.from_several(self, several)
        return self.from_parts(butterfly(cat(*(views_of(x, self.equivariant) for x in several))))

    def from_padded(self, x: Tensor) -> Tensor:
        """Run on parts side by side in one tensor, padded with zeros to one width."""
        if fused_mlp.usable(self, x):
            return fused_mlp.from_padded(self, x)
        return self.from_parts(x.chunk(len(self.layers[0].source.sizes), -1))

    @torch.no_grad()
    def dense(self) -> "MLP":
        """The same function as a plain network: for export, and for a batch of one."""
        plain = MLP(
            self.rep_in,
            self.hidden,
            None if self.out is None else self.rep_out,
            act=self.act_name,
            norm=self.normed,
            equivariant=False,
        ).to(self.layers[0].weight[0])
        for k, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            plain.layers[k].load_state_dict(layer.dense().state_dict())
            if isinstance(norm, RMSNorm):
                plain.norms[k].load_state_dict(norm.dense().state_dict())
        if self.out is not None and plain.out is not None:
            plain.out.load_state_dict(self.out.dense().state_dict())
        return plain
