"""The linear layer between any two Reps: it can be any equivariant affine map, and no other map.

By Schur's lemma, in even and odd coordinates an equivariant map is two independent matrices, even
to even and odd to odd, with a bias on the even part alone. It therefore costs two products with
half the inputs and outputs each: half the parameters and half the FLOPs of the dense layer of the
same width, with no constraint to enforce and nothing to average. It has
(d_in d_out + tr P_in tr P_out)/2 weights.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swap.nn import fused_mlp
from swap.nn.basis import Basis
from swap.nn.init import row_std
from swap.nn.views import Parts
from swap.nn.weight_cache import WeightCache
from swap.symmetry import Parity, Rep, trivial


class Linear(nn.Module):
    """y = W x + b with W P_in = P_out W and P_out b = b; `equivariant=False` is the plain twin."""

    def __init__(
        self,
        rep_in: Rep,
        rep_out: Rep,
        *,
        bias: bool = True,
        gain: float = 1.0,
        equivariant: bool = True,
    ) -> None:
        super().__init__()
        self.source = Basis(rep_in, equivariant=equivariant)
        self.target = Basis(rep_out, equivariant=equivariant)
        self.weight = nn.ParameterList()
        for part, (rows, cols) in enumerate(zip(self.target.sizes, self.source.sizes, strict=True)):
            std = row_std(rep_in, rep_out, part) if equivariant else torch.tensor(cols**-0.5)
            weight = torch.randn(rows, cols) * std.unsqueeze(-1) * gain
            self.weight.append(nn.Parameter(weight))
        self.bias = nn.Parameter(torch.zeros(self.target.sizes[0])) if bias else None
        self._scaled: WeightCache[tuple[list[Tensor], Tensor | None]] = WeightCache()

    @property
    def equivariant(self) -> bool:
        return self.source.equivariant

    def forward(self, x: Tensor) -> Tensor:
        if fused_mlp.linear_fits(self, x):
            return fused_mlp.linear(self, x)
        return self.target.merge(self.parts(self.source.split(x)))

    def parts(self, parts: Parts) -> Parts:
        """Apply the layer to (even, odd) parts; the scales of both bases are folded into the
        weights. Parts may be padded with zeros, which makes some products faster."""
        weights, bias = self.scaled()
        if parts[0].shape[-1] > self.source.sizes[0]:
            pairs = zip(weights, parts, strict=True)
            weights = [F.pad(w, (0, x.shape[-1] - w.shape[1])) for w, x in pairs]
        first = F.linear(parts[0], weights[0], bias)
        return (first, *(F.linear(x, w) for x, w in zip(parts[1:], weights[1:], strict=True)))

    def scaled(self) -> tuple[list[Tensor], Tensor | None]:
        """Weights and bias times the scales of the bases."""
        weights, bias, target = [*self.weight], self.bias, self.target.scale
        scale = self.source.scale * target
        if scale == target == 1:
            return weights, bias

        def make() -> tuple[list[Tensor], Tensor | None]:
            return [w * scale for w in weights], None if bias is None else bias * target

        return self._scaled(weights if bias is None else [*weights, bias], make)

    @torch.no_grad()
    def dense(self) -> "Linear":
        """The same map as one plain layer: for export, and for a batch of one."""
        plain = Linear(
            self.source.rep, self.target.rep, bias=self.bias is not None, equivariant=False
        ).to(self.weight[0])
        if not self.equivariant:
            plain.load_state_dict(self.state_dict())
            return plain
        split = _matrix(Parity(self.source.rep).split.matrix, self.weight[0])
        merge = _matrix(Parity(self.target.rep).merge.matrix, self.weight[0])
        blocks = torch.block_diag(*(w.double() for w in self.weight))
        plain.weight[0].copy_(merge @ blocks @ split)
        if self.bias is not None and plain.bias is not None:
            plain.bias.copy_(merge[:, : self.target.rep.n_even] @ self.bias.double())
        return plain

    def extra_repr(self) -> str:
        kind = "" if self.equivariant else ", equivariant=False"
        return f"{self.source.rep.dim} -> {self.target.rep.dim}{kind}"


class InvariantHead(Linear):
    """Maps features to numbers that the mirror leaves unchanged: a value, a style score.

    From regular features it computes w · (left + right).
    """

    def __init__(
        self, rep_in: Rep, outputs: int = 1, *, gain: float = 1.0, equivariant: bool = True
    ) -> None:
        super().__init__(rep_in, trivial(outputs), gain=gain, equivariant=equivariant)


def _matrix(array: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(array).to(like.device)
