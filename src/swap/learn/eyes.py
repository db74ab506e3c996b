"""Observations of worlds that are being stepped in, what they know of the terrain out: h.

The latent ticks every k steps, and every tick is put away for the world model to learn from.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from swap.capture import Captured
from swap.learn.replay import Replay
from swap.policy import TwoRate
from swap.world_model import WorldModel

READS = ("proprioception", "depth_noisy", "depth_clean", "body_heights", "foot_heights")
"""Groups of observations that a tick reads."""


class Eyes:
    """`look` after every observation, `act` after every decision; `h` is what a policy reads."""

    def __init__(
        self,
        model: WorldModel,
        replay: Replay,
        widths: Mapping[str, int],
        noise: Callable[[], Tensor],
        device: torch.device,
        *,
        capture: bool,
    ) -> None:
        """`widths` of the groups that are vectors; `noise` draws Gumbel noise [N, z]."""
        n, self.model, self.replay = replay.n, model, replay
        self.two_rate = TwoRate(model, n, device)
        self.draw_noise = noise
        # Where a recording looks for its input.
        shapes = {name: (widths[name],) if name in widths else model.cfg.image for name in READS}
        self.obs = {name: torch.zeros(n, *shape, device=device) for name, shape in shapes.items()}
        self.noise = torch.zeros(n, model.categoricals.dim, device=device)
        self.fresh = torch.zeros(n, dtype=torch.bool, device=device)
        self.forget = Captured(self._forget, device, enabled=capture)
        self.tick = Captured(self._tick, device, enabled=capture)

    @property
    def h(self) -> Tensor:
        """[N, deter], always the same tensor."""
        return self.two_rate.h

    def look(self, obs: Mapping[str, Tensor], fresh: Tensor) -> None:
        """A new observation; the worlds in `fresh` [N] have just begun."""
        self.fresh.copy_(fresh)
        self.forget()
        if not self.two_rate.due:
            return
        for name, x in self.obs.items():
            x.copy_(obs[name])
        self.noise.copy_(self.draw_noise())
        self.tick()
        self.two_rate.ticked()
        self.replay.stored()

    def act(self, action: Tensor) -> None:
        self.two_rate.record(action)

    def _forget(self) -> None:
        self.two_rate.reset(self.fresh)

    @torch.no_grad()
    def _tick(self) -> None:
        code, prop = self.model.cfg.depth, self.obs["proprioception"]
        # Worlds that broke: they are about to be reset, and must not spoil their latents till then.
        noisy, clean = (code.from_linear(self.obs[f"depth_{x}"]) for x in ("noisy", "clean"))
        sound = torch.isfinite(prop.sum(-1) + noisy.sum((1, 2)))
        prop = torch.where(sound[:, None], prop, 0.0)
        noisy = torch.where(sound[:, None, None], noisy, 0.0)
        self.two_rate.tick(noisy, prop, self.noise)
        tick = {
            "depth_noisy": code.to_bytes(noisy),
            "depth_clean": code.to_bytes(clean),
            "prop": prop,
            "actions": self.two_rate.actions,
            "body": self.obs["body_heights"],
            "foot": self.obs["foot_heights"],
            "first": self.two_rate.first,
            "valid": sound,
        }
        self.replay.store(tick, self.two_rate.latent)
