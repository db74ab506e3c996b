"""Depth, proprioception and actions in; a latent state, predictions and their loss out.

Everything is fp32 (TF32 products where the caller allows them): the loop is bound by launches, not
by arithmetic, and a latent carried over hundreds of ticks is no place for eight bits of mantissa.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from swap.errors import UserError
from swap.nn import Categoricals
from swap.nn.views import halves
from swap.symmetry import Field, Layout, regular
from swap.validate import check_numbers
from swap.world_model.batch import Sequences
from swap.world_model.decoder import Decoder, Reconstruction
from swap.world_model.depth import DepthCodec
from swap.world_model.encoder import PROP_CLIP
from swap.world_model.encoder_registry import ENCODERS, EncoderSpec
from swap.world_model.loss import FIGURES, Loss, LossCfg
from swap.world_model.rssm import Latent, Rssm


@dataclass(frozen=True)
class WorldModelCfg:
    """Sizes and weights. Widths count both views: an equivariant model has half the parameters."""

    image: tuple[int, int] = (64, 64)
    """Rows and columns of the depth image."""
    k: int = 5
    """Control steps, and so actions, a tick."""
    deter: int = 512
    """Width of h."""
    variables: int = 32
    """Categorical variables of z."""
    classes: int = 32
    """Classes of each."""
    unimix: float = 0.01
    """Share of the uniform distribution in every one of z."""
    hidden: int = 384
    """Width of the layers around h and z."""
    update_bias: float = -1.0
    """Bias of the update gate: below 0 keeps h."""
    channels: tuple[int, ...] = (16, 32, 64, 128)
    """Channels of the image encoder; the decoder has them in reverse."""
    prop_hidden: int = 128
    """Width of the proprioception encoder."""
    decoder_hidden: int = 256
    """Width of what the decoders read of the latent."""
    action_clip: float = 6.0
    """Actions beyond this are taken as this: no more reaches the motors."""
    loss: LossCfg = field(default_factory=LossCfg)
    depth: DepthCodec = field(default_factory=DepthCodec)
    equivariant: bool = True
    """Mirrored observations give mirrored latents; False is the plain twin."""
    encoder: str = "cnn"
    """What reads image and proprioception: cnn, or a class of yours, file.py:NAME or
    package.module:NAME, which runs when you name it here."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "model.net.",
            at_least_1=("image", "variables", "classes", "channels"),
            fractions=("unimix",),
            filled=("channels",),
        )
        ENCODERS.check(self.encoder)
        for name in ("deter", "hidden", "prop_hidden", "decoder_hidden"):
            halves(getattr(self, name), name)
        if self.k < 1:
            raise UserError(f"k={self.k} gives no action a tick; use 1 or more, e.g. 5")
        if not self.action_clip > 0:
            raise UserError(f"action_clip={self.action_clip} must be above 0; use e.g. 6")


class Observed(NamedTuple):
    """The latents of sequences, and what was believed at each tick."""

    latent: Latent  # [B, T, ...]
    posterior: Tensor  # [B, T, z], logits


class WorldModel(nn.Module):
    """The symmetric equivariant world model of section III-B."""

    def __init__(
        self, cfg: WorldModelCfg, prop: Layout, action: Layout, body: Layout, foot: Layout
    ) -> None:
        super().__init__()
        self.cfg, self.prop, self.action = cfg, prop, action
        self.body, self.foot = body, foot
        self.figures = FIGURES
        """Names of what `loss` tells."""
        eq = cfg.equivariant
        targets = (prop, body, foot)
        self.categoricals = Categoricals(cfg.variables, cfg.classes, cfg.unimix, equivariant=eq)
        spec = EncoderSpec(cfg.image, prop.rep, cfg.channels, cfg.prop_hidden, eq)
        self.encoder = ENCODERS[cfg.encoder](spec)
        self.rssm = Rssm(
            *(cfg.deter, cfg.hidden, self.categoricals, action.rep * cfg.k, self.encoder.rep),
            update_bias=cfg.update_bias,
            equivariant=eq,
        )
        self.decoder = Decoder(
            *(cfg.image, tuple(reversed(cfg.channels)), cfg.deter + self.categoricals.dim),
            *(cfg.decoder_hidden, targets),
            equivariant=eq,
        )
        self.criterion = Loss(cfg.loss, self.categoricals, targets)
        h = Field("latent", regular(cfg.deter // 2), "h", "where the last actions led")
        self.latent_layout = Layout((h,))
        """The layout of h: a group of observations for actor and critic."""

    # --- states ---------------------------------------------------------------------------------
    def initial(self, n: int, device: str | torch.device) -> Latent:
        """Zero, which is its own mirror image."""
        widths = self.cfg.deter, self.categoricals.dim
        return Latent(*(torch.zeros(n, width, device=device) for width in widths))

    def mirrored(self, latent: Latent) -> Latent:
        """The latent of the mirrored world: F_l, eq. 3."""
        return Latent(self.latent_layout.rep(latent.h), self.categoricals.rep(latent.z))

    def noise(self, *lead: int, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Gumbel noise [..., z] for any of the below."""
        return self.categoricals.noise(*lead, like=like, generator=generator)

    # --- one tick; without noise the likeliest z ------------------------------------------------
    def embed(self, depth: Tensor, prop: Tensor) -> Tensor:
        """[..., rows, cols] in the networks' range (`cfg.depth`) and [..., 33] -> [..., E]."""
        return self.encoder(depth, prop)

    def tick(
        self,
        latent: Latent,
        actions: Tensor,
        embedding: Tensor,
        first: Tensor,
        noise: Tensor | None,
    ) -> Latent:
        """One step of the posterior: the last k actions [N, k, 12] and what is seen now.

        Where `first` [N], an episode begins: no latent and no actions before it.
        """
        actions = torch.where(first[:, None, None], 0.0, actions)
        steps = self.rssm.steps()
        h = steps.recur(steps.begin(latent, first), self._heard(actions))
        return Latent(h, self.rssm.draw(steps.look(h, self.rssm.seen(embedding)), noise))

    def predict(self, latent: Latent, actions: Tensor, noise: Tensor | None) -> Latent:
        """One step of the prior: actions [N, k, 12], and nothing seen."""
        h = self.rssm.steps().recur(latent, self._heard(actions))
        return Latent(h, self.rssm.draw(self.rssm.prior(h), noise))

    def decode(self, latent: Latent) -> Reconstruction:
        return self.decoder(latent)

    # --- many -----------------------------------------------------------------------------------
    def imagine(self, latent: Latent, actions: Tensor, noise: Tensor | None) -> Latent:
        """A latent [N, ...] and actions [N, T, k, 12] -> the latents [N, T, ...] that follow."""
        steps, states = self.rssm.steps(), []
        noises = [None] * actions.shape[1] if noise is None else noise.unbind(1)
        for heard, g in zip(self._heard(actions).unbind(2), noises, strict=True):
            h = steps.recur(latent, heard)
            latent = Latent(h, self.rssm.draw(self.rssm.prior(h), g))
            states.append(latent)
        return Latent(*(torch.stack(x, 1) for x in zip(*states, strict=True)))

    def observe(self, batch: Sequences, noise: Tensor | None) -> Observed:
        """The posterior along sequences; `noise` [B, T, z]."""
        return self._observe(batch.cleaned(), noise)

    def loss(self, batch: Sequences, noise: Tensor | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Eq. 9 over the valid ticks, and its figures; `noise` [B, T, z].

        Encoder, prior and decoders run on all ticks at once.
        """
        batch = batch.cleaned()
        followed = self._observe(batch, noise)
        target = Reconstruction(
            self.cfg.depth.from_bytes(batch.depth_clean),
            batch.prop.clamp(-PROP_CLIP, PROP_CLIP),
            *(batch.body, batch.foot),
        )
        prior = self.rssm.prior(followed.latent.h)
        guess = self.decoder(followed.latent)
        return self.criterion(guess, target, followed.posterior, prior, batch.valid)

    def _observe(self, batch: Sequences, noise: Tensor | None) -> Observed:
        embedding = self.encoder(self.cfg.depth.from_bytes(batch.depth_noisy), batch.prop)
        actions = torch.where(batch.first[..., None, None], 0.0, batch.actions)
        T = actions.shape[1]
        columns = zip(
            self._heard(actions).unbind(2),
            self.rssm.seen(embedding).unbind(2),
            batch.first.unbind(1),
            [None] * T if noise is None else noise.unbind(1),
            strict=True,
        )
        steps, latent, states = self.rssm.steps(), batch.context, []
        for heard, seen, first, g in columns:
            h = steps.recur(steps.begin(latent, first), heard)
            logits = steps.look(h, seen)
            latent = Latent(h, self.rssm.draw(logits, g))
            states.append((*latent, logits))
        h, z, posterior = (torch.stack(x, 1) for x in zip(*states, strict=True))
        return Observed(Latent(h, z), posterior)

    def _heard(self, actions: Tensor) -> Tensor:
        limit = self.cfg.action_clip
        return self.rssm.heard(actions.flatten(-2).clamp(-limit, limit))

    # --- sizes ----------------------------------------------------------------------------------
    @property
    def n_parameters(self) -> dict[str, int]:
        """Trainable numbers of each part."""
        parts = {"encoder": self.encoder, "rssm": self.rssm, "decoder": self.decoder}
        return {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}
