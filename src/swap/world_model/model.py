"""The world model: tracks a latent state, predicts, decodes, and computes its loss.

Everything is fp32 (TF32 products where the caller allows them): the loop is bound by launches, not
by arithmetic, and eight bits of mantissa are too few for a latent carried over hundreds of ticks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from swap.env_spec import EnvSpec, unknown_group
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

    reads: tuple[str, ...] = ("proprioception",)
    """Observation groups that the encoder reads beside the image, and the decoder predicts."""
    deter: int = 512
    """Width of h."""
    variables: int = 32
    """Categorical variables of z."""
    classes: int = 32
    """Classes of each."""
    unimix: float = 0.01
    """Share of the uniform distribution mixed into each variable of z."""
    hidden: int = 384
    """Width of the layers around h and z."""
    update_bias: float = -1.0
    """Bias of the update gate; a negative one favours keeping h."""
    channels: tuple[int, ...] = (16, 32, 64, 128)
    """Channels of the image encoder; the decoder has them in reverse."""
    prop_hidden: int = 128
    """Width of the proprioception encoder."""
    decoder_hidden: int = 256
    """Width of the features of the latent that the decoders read."""
    depth_bend: float = 0.25
    """How depth is coded: small values are finer near than far, large ones linear."""
    loss: LossCfg = field(default_factory=LossCfg)
    equivariant: bool = True
    """Mirrored observations give mirrored latents; False is the plain twin."""
    encoder: str = "cnn"
    """The encoder of image and proprioception: cnn, or your own class as file.py:NAME or
    package.module:NAME; its code runs when you name it here."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "model.net.",
            at_least_1=("variables", "classes", "channels"),
            positive=("depth_bend",),
            fractions=("unimix",),
            filled=("channels",),
        )
        if not self.reads or len(set(self.reads)) < len(self.reads):
            raise UserError(f"model.net.reads={self.reads}; name at least one group, each once")
        ENCODERS.check(self.encoder)
        for name in ("deter", "hidden", "prop_hidden", "decoder_hidden"):
            halves(getattr(self, name), name)


class Observed(NamedTuple):
    """The latents along sequences, and the posterior at each tick."""

    latent: Latent  # [B, T, ...]
    posterior: Tensor  # [B, T, z], logits


class WorldModel(nn.Module):
    """The symmetric equivariant world model of section III-B."""

    def __init__(self, cfg: WorldModelCfg, spec: EnvSpec) -> None:
        super().__init__()
        if spec.camera is None:
            raise UserError("a world model sees by a camera; give the environment one: env.camera")
        self.cfg, self.action, self.action_clip = cfg, spec.action, spec.action_clip
        for name in cfg.reads:
            if name not in spec.groups:
                raise unknown_group(name, spec.groups)
        self.prop = prop = Layout.side_by_side({name: spec.groups[name] for name in cfg.reads})
        """The layout of all that the model reads except the image."""
        self.body, self.foot = spec.groups["body_heights"], spec.groups["foot_heights"]
        self.image = image = spec.camera.rows, spec.camera.cols
        self.codec = DepthCodec(spec.camera.near_m, spec.camera.far_m, cfg.depth_bend)
        """Converts between the camera's images and what the networks read."""
        self.k = spec.camera.every
        """Number of control steps, and so of actions, per tick."""
        self.figures = FIGURES
        """The names of the figures that `loss` returns."""
        eq = cfg.equivariant
        targets = (prop, self.body, self.foot)
        self.categoricals = Categoricals(cfg.variables, cfg.classes, cfg.unimix, equivariant=eq)
        seen = EncoderSpec(image, prop.rep, cfg.channels, cfg.prop_hidden, eq)
        self.encoder = ENCODERS[cfg.encoder](seen)
        self.rssm = Rssm(
            deter=cfg.deter,
            hidden=cfg.hidden,
            latent=self.categoricals,
            actions=self.action.rep * self.k,
            embedding=self.encoder.rep,
            update_bias=cfg.update_bias,
            equivariant=eq,
        )
        self.decoder = Decoder(
            size=image,
            channels=tuple(reversed(cfg.channels)),
            latent=cfg.deter + self.categoricals.dim,
            hidden=cfg.decoder_hidden,
            targets=targets,
            equivariant=eq,
        )
        self.criterion = Loss(cfg.loss, self.categoricals, targets)
        h = Field("latent", regular(cfg.deter // 2), "h", "where the last actions led")
        self.latent_layout = Layout((h,))
        """The layout of h: a group of observations for actor and critic."""

    # --- states ---------------------------------------------------------------------------------
    def initial(self, n: int, device: str | torch.device) -> Latent:
        """Zero, which is its own mirror image."""
        return Latent(
            h=torch.zeros(n, self.cfg.deter, device=device),
            z=torch.zeros(n, self.categoricals.dim, device=device),
        )

    def mirrored(self, latent: Latent) -> Latent:
        """The latent of the mirrored world: F_l, eq. 3."""
        return Latent(self.latent_layout.rep(latent.h), self.categoricals.rep(latent.z))

    def noise(self, *lead: int, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Gumbel noise [..., z] for any of the methods below."""
        return self.categoricals.noise(*lead, like=like, generator=generator)

    def prop_of(self, obs: Mapping[str, Tensor]) -> Tensor:
        """What the model reads of an observation besides the image, [..., 33]."""
        reads = self.cfg.reads
        return obs[reads[0]] if len(reads) == 1 else torch.cat([obs[x] for x in reads], -1)

    # --- one tick; without noise z is its mode --------------------------------------------------
    def embed(self, depth: Tensor, prop: Tensor) -> Tensor:
        """[..., rows, cols] in the networks' range (`codec`) and [..., 33] -> [..., E]."""
        return self.encoder(depth, prop)

    def tick(
        self,
        latent: Latent,
        actions: Tensor,
        embedding: Tensor,
        first: Tensor,
        noise: Tensor | None,
    ) -> Latent:
        """One step of the posterior, from the last k actions [N, k, 12] and the embedding seen now.

        Where `first` [N] is set, an episode begins: the latent and actions before it are ignored.
        """
        actions = torch.where(first[:, None, None], 0.0, actions)
        action_proj = self._project_actions(actions).unsqueeze(2)
        embed_proj = self.rssm.project_embedding(embedding).unsqueeze(2)
        noises = None if noise is None else noise.unsqueeze(1)
        new, _ = self.rssm.observe(latent, action_proj, embed_proj, first.unsqueeze(1), noises)
        return new.map(lambda x: x.squeeze(1))

    def predict(self, latent: Latent, actions: Tensor, noise: Tensor | None) -> Latent:
        """One step of the prior, from actions [N, k, 12] alone."""
        h = self.rssm.steps().next_h(latent, self._project_actions(actions))
        return Latent(h, self.rssm.draw(self.rssm.prior(h), noise))

    def decode(self, latent: Latent) -> Reconstruction:
        return self.decoder(latent)

    # --- many ticks -----------------------------------------------------------------------------
    def imagine(self, latent: Latent, actions: Tensor, noise: Tensor | None) -> Latent:
        """A latent [N, ...] and actions [N, T, k, 12] -> the latents [N, T, ...] that follow."""
        steps, states = self.rssm.steps(), []
        noises = [None] * actions.shape[1] if noise is None else noise.unbind(1)
        for action_proj, g in zip(self._project_actions(actions).unbind(2), noises, strict=True):
            h = steps.next_h(latent, action_proj)
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
            depth=self.codec.from_bytes(batch.depth_clean),
            prop=batch.prop.clamp(-PROP_CLIP, PROP_CLIP),
            body=batch.body,
            foot=batch.foot,
        )
        prior = self.rssm.prior(followed.latent.h)
        guess = self.decoder(followed.latent)
        return self.criterion(guess, target, followed.posterior, prior, batch.valid)

    def _observe(self, batch: Sequences, noise: Tensor | None) -> Observed:
        embedding = self.encoder(self.codec.from_bytes(batch.depth_noisy), batch.prop)
        actions = torch.where(batch.first[..., None, None], 0.0, batch.actions)
        inputs = self._project_actions(actions), self.rssm.project_embedding(embedding)
        return Observed(*self.rssm.observe(batch.context, *inputs, batch.first, noise))

    def _project_actions(self, actions: Tensor) -> Tensor:
        limit = self.action_clip
        return self.rssm.project_actions(actions.flatten(-2).clamp(-limit, limit))

    # --- sizes ----------------------------------------------------------------------------------
    @property
    def n_parameters(self) -> dict[str, int]:
        """Trainable numbers of each part."""
        parts = {"encoder": self.encoder, "rssm": self.rssm, "decoder": self.decoder}
        return {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}
