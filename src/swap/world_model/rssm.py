"""The recurrent state-space model: h summarises where the last actions led, z what is seen there.

Every step uses `Steps`: a tick in training or evaluation, a step of imagination, a step of a
training sequence.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swap.nn import (
    MLP,
    Butterfly,
    Categoricals,
    GRUCell,
    Linear,
    RMSNorm,
    StackedLinear,
    fused_mlp,
)
from swap.nn.fused_gates import GateCfg
from swap.nn.fused_hidden import HiddenCfg
from swap.nn.stacked import pointwise, split_views, stack_views
from swap.nn.weight_cache import WeightCache
from swap.symmetry import Rep, regular
from swap.world_model import fused_loop


class Latent(NamedTuple):
    """The latent state. h and z both mirror by the paper's F_l (eq. 3), in halves instead of
    alternating entries."""

    h: Tensor  # [..., deter]
    z: Tensor  # [..., variables * classes], one-hot

    def map(self, change: Callable[[Tensor], Tensor]) -> "Latent":
        """Applies a function to both."""
        return Latent(change(self.h), change(self.z))


class Rssm(nn.Module):
    """Recurrent model, prior and posterior of section III-B.

    The layers that read actions and embeddings are linear up to the first norm, so their outputs
    are computed for all ticks at once (`project_actions`, `project_embedding`); only what needs the
    state is left to the loop.
    """

    def __init__(
        self,
        deter: int,
        hidden: int,
        latent: Categoricals,
        actions: Rep,
        embedding: Rep,
        *,
        update_bias: float,
        equivariant: bool,
    ) -> None:
        super().__init__()
        self.latent, self.equivariant = latent, equivariant
        self.butterfly = Butterfly(equivariant=equivariant)
        wide, state = regular(hidden // 2), regular(deter // 2)
        # Only one in `classes` entries of z is 1; this gain gives it the same scale as the actions.
        loud = latent.classes**0.5
        self.z_in = Linear(latent.rep, wide, bias=False, gain=loud, equivariant=equivariant)
        self.actions_in = Linear(actions, wide, bias=False, equivariant=equivariant)
        self.in_norm = RMSNorm(hidden, equivariant=equivariant)
        self.cell = GRUCell(hidden, deter, update_bias=update_bias, equivariant=equivariant)
        self.prior = MLP(
            state, (hidden,), latent.rep, act="silu", norm=True, equivariant=equivariant
        )
        self.h_seen = Linear(state, wide, bias=False, equivariant=equivariant)
        self.seen_in = Linear(embedding, wide, bias=False, equivariant=equivariant)
        self.seen_norm = RMSNorm(hidden, equivariant=equivariant)
        self.posterior = Linear(wide, latent.rep, equivariant=equivariant)
        self._steps: WeightCache[Steps] = WeightCache()

    def project_actions(self, actions: Tensor) -> Tensor:
        """Actions [..., k * 12] -> what the recurrent model reads of them, [V, ..., hidden / V]."""
        return stack_views(self.actions_in.parts(self.actions_in.source.split(actions)))

    def project_embedding(self, embedding: Tensor) -> Tensor:
        """Embedding [..., E] -> what the posterior reads of it, [V, ..., hidden / V]."""
        if fused_loop.usable(embedding):
            return fused_mlp.parities(self.seen_in, embedding)
        return stack_views(self.seen_in.parts(self.seen_in.source.split(embedding)))

    def steps(self) -> "Steps":
        """Prepares the weights of a step once, for any number of steps."""
        layers = self.z_in, self.cell.gates, self.h_seen, self.posterior
        norms = self.in_norm, self.cell.norm, self.seen_norm
        read = [w for layer in layers for w in layer.parameters()] + [x.gain for x in norms]
        return self._steps(read, lambda: Steps(self))

    def observe(
        self,
        last: Latent,
        action_proj: Tensor,
        embed_proj: Tensor,
        first: Tensor,
        noise: Tensor | None,
    ) -> tuple[Latent, Tensor]:
        """Runs the posterior along sequences. `last` [B, ...] is the latent before them; the
        projections of actions and embeddings are [V, B, T, ...], `first` [B, T] marks where
        episodes begin, noise is [B, T, z]. Returns latents [B, T, ...] and the posterior's logits
        [B, T, z]."""
        steps = self.steps()
        if fused_loop.usable(action_proj, embed_proj, *last):
            *latent, logits = steps.fused(last, action_proj, embed_proj, first, noise)
            return Latent(*latent), logits
        states = []
        noises = [None] * first.shape[1] if noise is None else noise.unbind(1)
        columns = action_proj.unbind(2), embed_proj.unbind(2), first.unbind(1), noises
        for action, embedding, begins, g in zip(*columns, strict=True):
            h = steps.next_h(steps.reset(last, begins), action)
            logits = steps.posterior_logits(h, embedding)
            last = Latent(h, self.draw(logits, g))
            states.append((*last, logits))
        several = zip(*states, strict=True)
        if len(states) == 1:  # a tick: nothing to copy
            h, z, posterior = (x.unsqueeze(1) for (x,) in several)
        else:
            h, z, posterior = (torch.stack(x, 1) for x in several)
        return Latent(h, z), posterior

    def draw(self, logits: Tensor, noise: Tensor | None) -> Tensor:
        """Draws z with Gumbel noise; without noise z is the mode."""
        return self.latent.mode(logits) if noise is None else self.latent.sample(logits, noise)


class Steps:
    """h_t = f_φ(h_{t-k}, z_{t-k}, a_{t-k:t-1}), eq. 5, and z_t ~ q_φ(. | h_t, o_t), eq. 7."""

    def __init__(self, rssm: Rssm) -> None:
        self.rssm, self.equivariant, self.butterfly = rssm, rssm.equivariant, rssm.butterfly
        self.z_in = StackedLinear(rssm.z_in, rssm.in_norm)
        self.gates = StackedLinear(rssm.cell.gates, rssm.cell.norm)
        self.h_seen = StackedLinear(rssm.h_seen, rssm.seen_norm)
        self.posterior = StackedLinear(rssm.posterior)
        # Made here, because a 0.0 in `where` would cost a kernel launch, twice per step.
        self.zero = rssm.cell.norm.gain.new_zeros(())

    def reset(self, last: Latent, first: Tensor) -> Latent:
        """Sets the latent to zero where an episode begins, `first` [B]."""
        rows = first.unsqueeze(-1)
        return last.map(lambda x: torch.where(rows, self.zero, x))

    def next_h(self, last: Latent, action_proj: Tensor) -> Tensor:
        """Returns the next h [B, deter] from the latent [B, ...] and `action_proj` [V, B, ...]."""
        fly, h, z = self.butterfly, *(split_views(x, self.equivariant) for x in last)
        x = pointwise(F.silu, fly(self.z_in(fly(z), action_proj)))
        gates = fly(self.gates(fly(torch.cat((x, h), -1))))
        return pointwise(self.rssm.cell.gated, gates, h).flatten(-2)

    def posterior_logits(self, h: Tensor, embed_proj: Tensor) -> Tensor:
        """Returns the posterior's logits [B, z] from h [B, deter] and `embed_proj` [V, B, ...]."""
        fly = self.butterfly
        parities = self.h_seen(fly(split_views(h, self.equivariant)), embed_proj)
        x = pointwise(F.silu, fly(parities))
        return fly(self.posterior(fly(x))).flatten(-2)

    def fused(
        self,
        last: Latent,
        action_proj: Tensor,
        embed_proj: Tensor,
        first: Tensor,
        noise: Tensor | None,
    ) -> fused_loop.LoopOutput:
        """`Rssm.observe` by Triton's kernels."""
        rssm = self.rssm
        assert rssm.posterior.bias is not None
        layers = fused_loop.Layers(
            z_in=self.z_in.weight,
            gates=self.gates.weight,
            h_seen=self.h_seen.weight,
            posterior=self.posterior.weight,
            bias=rssm.posterior.bias * rssm.posterior.target.scale,
            in_gain=rssm.in_norm.gain,
            gates_gain=rssm.cell.norm.gain,
            seen_gain=rssm.seen_norm.gain,
        )
        cfg = fused_loop.LoopCfg(
            latent=rssm.latent,
            in_norm=HiddenCfg("silu", eps=rssm.in_norm.eps),
            seen_norm=HiddenCfg("silu", eps=rssm.seen_norm.eps),
            gates=GateCfg(rssm.cell.norm.eps, rssm.cell.update_bias),
        )
        return fused_loop.run_loop(action_proj, embed_proj, first, noise, *last, layers, cfg)
