"""The recurrent cell: an equivariant GRU whose gates are one normalised linear layer.

It is the paper's SE-GRU (eq. 5): mirrored state and input give the mirrored next state.
"""

import torch
from torch import Tensor, nn

from swap.nn import fused_gates
from swap.nn.fused_mlp import join_parities, product
from swap.nn.linear import Linear
from swap.nn.norm import RMSNorm
from swap.nn.views import Parts, butterfly, cat, halves, views_of
from swap.symmetry import Rep, regular


class GRUCell(nn.Module):
    """Computes the next state from input features and state, all flat tensors of regular features.

    One layer without bias and a norm give the gates. The update gate is biased towards keeping the
    state, which lets gradients pass through many steps from the start of training.
    """

    def __init__(
        self, inputs: int, width: int, *, update_bias: float = -1.0, equivariant: bool = True
    ) -> None:
        super().__init__()
        self.inputs, self.width, self.update_bias = inputs, width, update_bias
        read = regular(halves(inputs, "inputs") + halves(width, "width"))
        self.gates = Linear(read, regular(3 * width // 2), bias=False, equivariant=equivariant)
        self.norm = RMSNorm(3 * width, equivariant=equivariant)
        self.equivariant = equivariant

    @property
    def rep(self) -> Rep:
        """How the state mirrors: the paper's F_l."""
        return regular(self.width // 2)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        if fused_gates.usable(x, h):
            return self._fused(x, h)
        both = views_of(x, self.equivariant), views_of(h, self.equivariant)
        return torch.cat(self.step(*both), -1)

    def step(self, x: Parts, h: Parts) -> Parts:
        """The same as `forward`, on views."""
        gates = self.norm(butterfly(self.gates.parts(butterfly(cat(x, h)))))
        return tuple(self.gated(g, state) for g, state in zip(gates, h, strict=True))

    def _fused(self, x: Tensor, h: Tensor) -> Tensor:
        weights = self.gates.weight
        y = product(join_parities(x, h, views=len(weights)), weights)
        # The norm cancels the scale of the bases, except in its eps, which is rescaled here.
        scale = self.gates.source.scale * self.gates.target.scale
        cfg = fused_gates.GateCfg(self.norm.eps / scale**2, self.update_bias)
        return fused_gates.gated(y, self.norm.gain, h.reshape(-1, self.width), cfg).view(h.shape)

    def gated(self, gates: Tensor, h: Tensor) -> Tensor:
        """The next state of a view, from its normalised gates and its state."""
        reset, candidate, update = gates.chunk(3, -1)
        candidate = torch.tanh(torch.sigmoid(reset) * candidate)
        update = torch.sigmoid(update + self.update_bias)
        return torch.addcmul(h, update, candidate - h)

    @torch.no_grad()
    def dense(self) -> "GRUCell":
        """The same cell as a plain one."""
        plain = GRUCell(
            self.inputs, self.width, update_bias=self.update_bias, equivariant=False
        ).to(self.gates.weight[0])
        folded, gain = self.gates.dense().weight[0].data, self.norm.dense().gain.data
        if self.equivariant:
            # An equivariant cell orders by view first, then by [input, state] or [reset, candidate,
            # update]; a plain cell the other way round.
            columns = _sides_inward(self.inputs, self.width).to(folded.device)
            rows = _sides_inward(self.width, self.width, self.width).to(folded.device)
            folded, gain = folded[rows][:, columns], gain[rows]
        plain.gates.weight[0].copy_(folded)
        plain.norm.gain.copy_(gain)
        return plain


def _sides_inward(*widths: int) -> Tensor:
    """The order that turns [a b | a b] (views outermost) into [a a | b b] (views innermost)."""
    position = torch.arange(sum(widths)).reshape(2, -1)
    return torch.cat([part.reshape(-1) for part in position.split([w // 2 for w in widths], 1)])
