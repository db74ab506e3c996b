"""One tick of the world model for a robot that acts on a CPU: few calls, weights ready.

It is `WorldModel.embed` and `tick` without noise. Both views go through every function together,
so it equals them, and its own mirror image, up to rounding only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.nn import RMSNorm, StackedLinear
from swap.nn.fast_trunk import FastTrunk
from swap.nn.stacked import split_views
from swap.world_model.encoder import PROP_CLIP, Encoder
from swap.world_model.model import WorldModel
from swap.world_model.rssm import Latent


class FastTick:
    """The weights of `model` as they are now, folded, for `n` robots; see `usable`."""

    @torch.no_grad()
    def __init__(self, model: WorldModel, n: int) -> None:
        rssm, encoder = model.rssm, model.encoder
        assert isinstance(encoder, Encoder)
        self.trunk, self.prop = FastTrunk(encoder.image, n), []
        for layer, norm in zip(encoder.prop.layers, encoder.prop.norms, strict=True):
            assert isinstance(norm, RMSNorm)
            weight, gain = layer.dense().weight[0].detach(), norm.dense().gain.detach()
            self.prop.append((weight.mT.contiguous(), gain, norm.eps))
        self.steps, self.gated = rssm.steps(), rssm.cell.gated
        self.equivariant, self.clip = rssm.equivariant, model.action_clip
        self.sign, self.classes = rssm.butterfly.sign, model.categoricals.classes
        each = torch.eye(rssm.actions_in.source.rep.dim)
        self.actions_in = rssm.project_actions(each).transpose(0, 1).flatten(1)  # [k * 12, hidden]
        # One class of each variable is 1: of the layer that reads z those rows are added up.
        each = split_views(torch.eye(model.categoricals.dim), self.equivariant)
        self.z_in = StackedLinear(rssm.z_in)(self._butterfly(each)).flatten(1)  # [z, hidden]
        self.variable = torch.arange(model.categoricals.variables) * self.classes
        # What is seen and where the robot is are read side by side, as one product. The trunk has
        # the channels of a pixel side by side, its twin the pixels of a channel.
        self.seen = StackedLinear(rssm.h_seen, rssm.seen_norm)
        parts = (x // self.trunk.views for x in (encoder.image.features, encoder.prop.rep_out.dim))
        image, felt = StackedLinear(rssm.seen_in).weight.split([*parts], 1)
        image = image.unflatten(1, (self.trunk.channels, -1)).transpose(1, 2).flatten(1, 2)
        weight = torch.cat((self.seen.weight, image, felt), 1)
        self.seen.weight = weight.mT.contiguous().mT

    @torch.inference_mode()
    def __call__(
        self, last: Latent, actions: Tensor, depth: Tensor, prop: Tensor, first: Tensor
    ) -> Latent:
        """As `WorldModel.tick` and `embed`, but `last` must be zero where an episode begins. Copy
        what it returns: such tensors cannot be written to by others."""
        actions = actions.masked_fill(first[:, None, None], 0.0)
        fly, steps = self._butterfly, self.steps
        sure, which = last.z.unflatten(1, (-1, self.classes)).max(-1)  # 1, or 0 in the beginning
        x = F.embedding_bag(which + self.variable, self.z_in, mode="sum", per_sample_weights=sure)
        x.addmm_(actions.flatten(1).clamp(-self.clip, self.clip), self.actions_in)
        x = F.rms_norm(x, x.shape[1:], steps.z_in.gain, steps.z_in.eps)
        x, h = F.silu(fly(self._views(x))), self._views(last.h)
        h = self.gated(fly(steps.gates(fly(torch.cat((x, h), -1)))), h)
        felt = prop.clamp(-PROP_CLIP, PROP_CLIP)
        for weight, gain, eps in self.prop:
            felt = F.silu(F.rms_norm(felt @ weight, gain.shape, gain, eps))
        y = torch.cat((h, self.trunk(depth), self._views(felt)), -1)
        logits = fly(steps.posterior(fly(F.silu(fly(self.seen(fly(y)))))))
        rows = logits.reshape(len(depth), -1, self.classes)
        z = torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)
        return Latent(h.flatten(1), z.flatten(1))

    def _views(self, x: Tensor) -> Tensor:
        return split_views(x, self.equivariant)

    def _butterfly(self, x: Tensor) -> Tensor:
        return torch.addcmul(x[:, :1], x[:, 1:], self.sign) if self.equivariant else x


def usable(model: WorldModel) -> bool:
    """It is on a CPU, and its encoder is ours."""
    return type(model.encoder) is Encoder and model.rssm.butterfly.sign.is_cpu
