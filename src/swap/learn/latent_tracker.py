"""Observations of worlds that are being stepped in, what they know of the terrain out: h.

The latent ticks every k steps, and every tick is put away for the world model to learn from.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from swap.device.cuda_graph import GraphedCallable
from swap.learn.mirrored_inputs import MIRRORED_LATENT, MirroredLatent
from swap.learn.replay import ReplayBuffer
from swap.policy import LATENT, LatentState
from swap.world_model import WorldModel

IMAGES = ("depth_noisy", "depth_clean")
HEIGHTS = ("body_heights", "foot_heights")
"""What a tick reads of an observation, beside what the world model reads."""


class LatentTracker:
    """Call `observe` after every observation, `record` after every action; a policy reads `h`."""

    def __init__(
        self,
        model: WorldModel,
        replay: ReplayBuffer,
        widths: Mapping[str, int],
        noise: Callable[[], Tensor],
        device: torch.device,
        *,
        capture: bool,
        mirrored: bool = False,
    ) -> None:
        """`widths` of the groups that are vectors; `noise` draws Gumbel noise [N, z]; `mirrored`:
        know the latents of the mirrored worlds, too."""
        n, self.model, self.replay = replay.n, model, replay
        self.latent_state = LatentState(model, n, device)
        self.mirrored = MirroredLatent(model, n, device) if mirrored else None
        self.latent_states = {LATENT: self.latent_state} | (
            {} if self.mirrored is None else {MIRRORED_LATENT: self.mirrored}
        )
        self.draw_noise = noise
        # Where a recording looks for its input.
        vectors = {name: (widths[name],) for name in (*model.cfg.reads, *HEIGHTS)}
        shapes = {**vectors, **dict.fromkeys(IMAGES, model.image)}
        self.obs = {name: torch.zeros(n, *shape, device=device) for name, shape in shapes.items()}
        self.noise = torch.zeros(len(self.latent_states), n, model.categoricals.dim, device=device)
        self.fresh = torch.zeros(n, dtype=torch.bool, device=device)
        self.reset = GraphedCallable(self._reset, device, enabled=capture)
        self.tick = GraphedCallable(self._tick, device, enabled=capture)

    @property
    def h(self) -> Tensor:
        """[N, deter], always the same tensor."""
        return self.latent_state.h

    @property
    def latents(self) -> dict[str, Tensor]:
        """h of the worlds, and of the mirrored ones if there are."""
        return {name: rate.h for name, rate in self.latent_states.items()}

    def observe(self, obs: Mapping[str, Tensor], fresh: Tensor) -> None:
        """A new observation; the worlds in `fresh` [N] have just begun."""
        self.fresh.copy_(fresh)
        self.reset()
        if not self.latent_state.due:
            return
        for name, x in self.obs.items():
            x.copy_(obs[name])
        for noise in self.noise:
            noise.copy_(self.draw_noise())
        self.tick()
        for rate in self.latent_states.values():
            rate.finish_tick()
        self.replay.stored()

    def record(self, action: Tensor) -> None:
        for rate in self.latent_states.values():
            rate.record(action)

    def _reset(self) -> None:
        for rate in self.latent_states.values():
            rate.reset(self.fresh)

    @torch.no_grad()
    def _tick(self) -> None:
        code, prop = self.model.codec, self.model.prop_of(self.obs)
        # Worlds that broke: they are about to be reset, and must not spoil their latents till then.
        noisy, clean = (code.from_linear(self.obs[f"depth_{x}"]) for x in ("noisy", "clean"))
        sound = torch.isfinite(prop.sum(-1) + noisy.sum((1, 2)))
        prop = torch.where(sound[:, None], prop, 0.0)
        noisy = torch.where(sound[:, None, None], noisy, 0.0)
        for rate, noise in zip(self.latent_states.values(), self.noise, strict=True):
            rate.tick(noisy, prop, noise)
        tick = {
            "depth_noisy": code.to_bytes(noisy),
            "depth_clean": code.to_bytes(clean),
            "prop": prop,
            "actions": self.latent_state.actions,
            "body": self.obs["body_heights"],
            "foot": self.obs["foot_heights"],
            "first": self.latent_state.first,
            "valid": sound,
        }
        self.replay.store(
            tick, self.latent_state.latent, None if self.mirrored is None else self.mirrored.latent
        )
