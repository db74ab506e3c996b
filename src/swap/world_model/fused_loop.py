"""Runs the posterior along sequences in eight launches per tick, and eight back: a product and a
kernel for each of four layers. `Steps` computes the same, tick by tick, in more than forty.

The gradients of the weights are not added up tick by tick: the inputs of every product are kept,
and one product over all ticks gives the gradients at the end. All tensors between the layers are
parities [V, T, B, ...]; mirroring only negates the odd ones, and that cancels in every sum of
products.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.nn import Categoricals, fused_draw, fused_gates, fused_hidden
from swap.nn.fused_gates import GateCfg
from swap.nn.fused_hidden import HiddenCfg


class Layers(NamedTuple):
    """The weights of a step, [V, in, out], with bias and gains."""

    z_in: Tensor
    gates: Tensor
    h_seen: Tensor
    posterior: Tensor
    bias: Tensor  # [z / V], of the posterior's even part
    in_gain: Tensor  # [hidden / V]
    gates_gain: Tensor  # [3 deter / V]
    seen_gain: Tensor  # [hidden / V]


class LoopCfg(NamedTuple):
    """The constants of a step."""

    latent: Categoricals
    in_norm: HiddenCfg
    seen_norm: HiddenCfg
    gates: GateCfg


class LoopOutput(NamedTuple):
    h: Tensor  # [B, T, deter]
    z: Tensor  # [B, T, z]
    logits: Tensor  # [B, T, z], of the posterior


def usable(*tensors: Tensor) -> bool:
    return triton_launch.usable("loop", *tensors) and not torch.is_autocast_enabled("cuda")


def run_loop(
    action_proj: Tensor,
    embed_proj: Tensor,
    first: Tensor,
    noise: Tensor | None,
    h: Tensor,
    z: Tensor,
    layers: Layers,
    cfg: LoopCfg,
) -> LoopOutput:
    """Returns the latents along sequences. The projections of actions and embeddings are
    [V, B, T, hidden / V], `first` [B, T], noise [B, T, z]; `h` and `z` [B, ...] are the latent
    before the first tick and get no gradient."""
    assert not any(x.requires_grad for x in (h, z)), "no gradient goes to the context"
    return LoopOutput(*_Loop.apply(action_proj, embed_proj, first, noise, h, z, *layers, cfg))


class _Loop(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        action_proj: Tensor,
        embed_proj: Tensor,
        first: Tensor,
        noise: Tensor | None,
        h: Tensor,
        z: Tensor,
        *rest: Any,
    ) -> tuple[Tensor, ...]:
        *several, cfg = rest
        state = _LoopState(action_proj, embed_proj, first, h, z, Layers(*several), cfg)
        state.run(noise)
        ctx.state = state
        ctx.set_materialize_grads(False)
        return state.out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, dh: Tensor | None, dz: Tensor | None, dlogits: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        daction_proj, dembed_proj, layers = ctx.state.run_back(dh, dz, dlogits)
        return daction_proj, dembed_proj, None, None, None, None, *layers, None


class _LoopState:
    """All tensors of a loop: what the forward pass computes and the backward pass reads."""

    def __init__(
        self,
        action_proj: Tensor,
        embed_proj: Tensor,
        first: Tensor,
        h: Tensor,
        z: Tensor,
        layers: Layers,
        cfg: LoopCfg,
    ) -> None:
        self.layers, self.cfg = layers, cfg
        # [V, T, B, ...]: views of the inputs
        self.action_proj, self.embed_proj = action_proj.transpose(1, 2), embed_proj.transpose(1, 2)
        self.first = first.t()  # [T, B]
        self.views, self.ticks, self.batch, self.hidden = self.action_proj.shape
        self.deter, self.z = h.shape[-1] // self.views, z.shape[-1] // self.views
        new, (T, B) = action_proj.new_empty, (self.ticks, self.batch)
        self.h = new(B, T, self.views * self.deter)
        self.drawn, self.logits = (new(B, T, self.views * self.z) for _ in range(2))
        # What went into each product.
        self.z_read, self.state_read = self._all(self.z), self._all(self.hidden + self.deter)
        self.h_read, self.x_read = self._all(self.deter), self._all(self.hidden)
        # The outputs of each product, before the norms; the logits are kept as they were returned.
        self.z_out, self.gates_out, self.h_out = (
            new(T, self.views, B, width) for width in (self.hidden, 3 * self.deter, self.hidden)
        )
        fresh = self.first[0, :, None]
        self.context = torch.where(fresh, 0.0, h)
        _parities(self.context, self.views, out=self.state_read[:, 0, :, self.hidden :])
        _parities(torch.where(fresh, 0.0, z), self.views, out=self.z_read[:, 0])

    @property
    def out(self) -> tuple[Tensor, ...]:
        # Separate tensors: autograd must not return the tensors that it keeps.
        return tuple(x.detach() for x in (self.h, self.drawn, self.logits))

    def _all(self, width: int) -> Tensor:
        return self.h.new_empty(self.views, self.ticks, self.batch, width)

    def run(self, noise: Tensor | None) -> None:
        w, cfg = self.layers, self.cfg
        said = self.h.new_empty(self.views, self.batch, self.z)
        for t in range(self.ticks):
            state, z, ends = self._onward(t)
            torch.bmm(self.z_read[:, t], w.z_in, out=self.z_out[t])
            x = self.state_read[:, t, :, : self.hidden]
            fused_hidden.run_forward(
                self.z_out[t], x, cfg.in_norm, add=self.action_proj[:, t], gain=w.in_gain
            )
            torch.bmm(self.state_read[:, t], w.gates, out=self.gates_out[t])
            fused_gates.run_forward(
                *(self.gates_out[t], w.gates_gain, self._before(t), self.h[:, t], cfg.gates),
                fresh=self.first[t],
                parities=self.h_read[:, t],
                onward=state,
                ends=ends,
            )
            torch.bmm(self.h_read[:, t], w.h_seen, out=self.h_out[t])
            x = self.x_read[:, t]
            fused_hidden.run_forward(
                self.h_out[t], x, cfg.seen_norm, add=self.embed_proj[:, t], gain=w.seen_gain
            )
            torch.bmm(x, w.posterior, out=said)
            chance = None if noise is None else noise[:, t]
            fused_draw.run_forward(
                *(said, w.bias, chance, self.logits[:, t], self.drawn[:, t], cfg.latent),
                onward=z,
                ends=ends,
            )

    def _onward(self, t: int) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Returns where the next tick, if there is one, reads h and z, and which episodes begin
        there."""
        if t == self.ticks - 1:
            return None, None, None
        state = self.state_read[:, t + 1, :, self.hidden :]
        return state, self.z_read[:, t + 1], self.first[t + 1]

    def run_back(
        self, dh: Tensor | None, dz: Tensor | None, dlogits: Tensor | None
    ) -> tuple[Tensor, Tensor, Layers]:
        """Turns the gradients of the three results into those of projections and layers."""
        w, cfg, new = self.layers, self.cfg, self.h.new_empty
        dh, dz, dlogits = (None if x is None else x.contiguous() for x in (dh, dz, dlogits))
        parts = (self.views, self.batch)
        dposterior, dh_out, dgates, dz_out = (
            self._all(width) for width in (self.z, self.hidden, 3 * self.deter, self.hidden)
        )
        dx, dh_read = new(*parts, self.hidden), new(*parts, self.deter)
        dstate, dz_read = new(*parts, self.hidden + self.deter), new(*parts, self.z)
        # Gradients of the state: `behind` is from the tick after, `ahead` for the one before.
        behind, ahead = (new(self.batch, self.views * self.deter) for _ in range(2))
        in_sum, gates_sum, seen_sum = (
            self.h.new_zeros(self.batch, width)
            for width in (self.hidden, 3 * self.deter, self.hidden)
        )
        weights = [x.mT for x in (w.z_in, w.gates, w.h_seen, w.posterior)]
        for t in reversed(range(self.ticks)):
            last = t == self.ticks - 1
            ends = None if last else self.first[t + 1]
            fused_draw.run_backward(
                *(self.logits[:, t], dposterior[:, t], cfg.latent),
                dlogits=None if dlogits is None else dlogits[:, t],
                dz=None if dz is None else dz[:, t],
                donward=None if last else dz_read,
                ends=ends,
            )
            torch.bmm(dposterior[:, t], weights[3], out=dx)
            fused_hidden.run_backward(
                *(self.h_out[t], dx, dh_out[:, t], cfg.seen_norm),
                add=self.embed_proj[:, t],
                gain=w.seen_gain,
                sums=seen_sum,
            )
            torch.bmm(dh_out[:, t], weights[2], out=dh_read)
            fused_gates.run_backward(
                *(self.gates_out[t], w.gates_gain, self._before(t), dgates[:, t], ahead),
                cfg.gates,
                sums=gates_sum,
                fresh=self.first[t],
                dout=None if dh is None else dh[:, t],
                dparities=dh_read,
                dnext=None if last else behind,
                donward=None if last else dstate[:, :, self.hidden :],
                ends=ends,
            )
            behind, ahead = ahead, behind
            torch.bmm(dgates[:, t], weights[1], out=dstate)
            fused_hidden.run_backward(
                *(self.z_out[t], dstate[:, :, : self.hidden], dz_out[:, t], cfg.in_norm),
                add=self.action_proj[:, t],
                gain=w.in_gain,
                sums=in_sum,
            )
            if t:
                torch.bmm(dz_out[:, t], weights[0], out=dz_read)
        layers = Layers(
            z_in=_weight_gradient(self.z_read, dz_out),
            gates=_weight_gradient(self.state_read, dgates),
            h_seen=_weight_gradient(self.h_read, dh_out),
            posterior=_weight_gradient(self.x_read, dposterior),
            bias=dposterior[0].sum((0, 1)),
            in_gain=in_sum.sum(0),
            gates_gain=gates_sum.sum(0),
            seen_gain=seen_sum.sum(0),
        )
        return dz_out.transpose(1, 2), dh_out.transpose(1, 2), layers

    def _before(self, t: int) -> Tensor:
        """The state before a tick, whether or not an episode begins there."""
        return self.h[:, t - 1] if t else self.context


def _weight_gradient(x: Tensor, dy: Tensor) -> Tensor:
    """The gradient of a weight [V, in, out]; in memory [V, out, in], as the layers keep their
    weights."""
    return torch.bmm(dy.flatten(1, 2).mT, x.flatten(1, 2)).mT


def _parities(x: Tensor, views: int, out: Tensor) -> None:
    """Features [B, V d] -> out [V, B, d]."""
    if views == 1:
        out[0].copy_(x)
        return
    left, right = x.chunk(2, -1)
    torch.add(left, right, out=out[0])
    torch.sub(left, right, out=out[1])
