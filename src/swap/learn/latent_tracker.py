"""Updates the latent states of all worlds while they are stepped.

The world model ticks every k steps, and every tick is stored in the replay for it to learn from.
"""

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Literal

import torch
from torch import Tensor

from swap.device.cuda_graph import GraphedCallable
from swap.learn.mirrored_inputs import MIRRORED_LATENT, NOISELESS_LATENT, MirroredLatent
from swap.learn.replay import ReplayBuffer
from swap.policy import LATENT, LatentState, TickClock
from swap.state_dict import join_states
from swap.world_model import WorldModel

Mirrored = Literal["no", "sampled", "noiseless"]
IMAGES = ("depth_noisy", "depth_clean")
HEIGHTS = ("body_heights", "foot_heights")
"""What a tick stores of an observation, besides what the world model reads."""


class LatentTracker:
    """Call `observe` after every observation, `record` after every action; a policy reads `h`."""

    def __init__(
        self,
        model: WorldModel,
        replay: ReplayBuffer,
        noise: Callable[[], Tensor],
        device: torch.device,
        *,
        capture: bool,
        mirrored: Mirrored = "no",
    ) -> None:
        """`noise` draws Gumbel noise [N, z]. `mirrored`: also track the latents of the mirrored
        worlds, either with noise of their own, or without noise and beside those of the worlds
        themselves without noise."""
        n, self.model, self.replay = replay.n, model, replay
        self.clock = TickClock(model.k)
        self.latent_state = LatentState(model, n, device, self.clock)
        self.mirrored = None if mirrored == "no" else MirroredLatent(model, n, device, self.clock)
        self.latent_states = {LATENT: self.latent_state}
        if self.mirrored is not None:
            self.latent_states[MIRRORED_LATENT] = self.mirrored
        if mirrored == "noiseless":
            self.latent_states[NOISELESS_LATENT] = LatentState(model, n, device, self.clock)
        self.noisy = 2 if mirrored == "sampled" else 1
        """The first so many latents get noise."""
        self.draw_noise = noise
        self.reads = (*model.cfg.reads, *IMAGES, *HEIGHTS)
        self.reset = GraphedCallable(self._reset, device, enabled=capture)
        self.tick = GraphedCallable(self._tick, device, enabled=capture)

    @property
    def h(self) -> Tensor:
        """[N, deter], always the same tensor."""
        return self.latent_state.h

    @property
    def latents(self) -> dict[str, Tensor]:
        """h of the worlds, and of all others that are tracked."""
        return {name: state.h for name, state in self.latent_states.items()}

    def observe(self, obs: Mapping[str, Tensor], fresh: Tensor, valid: Tensor) -> None:
        """Takes a new observation; in the worlds in `fresh` [N] an episode has just begun. From
        those that are not `valid` [N] nothing is learned: the physics diverged, and the robot
        stands where it was put."""
        if self.clock.observe(fresh, self.reset, lambda: self._look(obs, valid)):
            self.replay.stored()

    def record(self, action: Tensor) -> None:
        place = self.clock.record()
        for state in self.latent_states.values():
            state.write(action, place)

    def state_dict(self) -> dict[str, Tensor]:
        """The latents, not copies of them."""
        states = self.latent_states.items()
        return join_states(**{name: state.state_dict() for name, state in states})

    def _look(self, obs: Mapping[str, Tensor], valid: Tensor) -> None:
        noises = [self.draw_noise() for _ in range(self.noisy)]
        self.tick(*noises, valid=valid, **{name: obs[name] for name in self.reads})

    def _reset(self, fresh: Tensor) -> None:
        for state in self.latent_states.values():
            state.reset(fresh)

    @torch.no_grad()
    def _tick(self, *noises: Tensor, valid: Tensor, **obs: Tensor) -> None:
        """Takes noise for the first latent states, which worlds are valid, and the observations
        that `reads` names."""
        code, prop = self.model.codec, self.model.prop_of(obs)
        # Worlds that diverged are about to be reset; their latents must stay finite until then.
        noisy, clean = (code.from_linear(obs[f"depth_{x}"]) for x in ("noisy", "clean"))
        sound = torch.isfinite(prop.sum(-1) + noisy.sum((1, 2)))
        prop = torch.where(sound[:, None], prop, 0.0)
        noisy = torch.where(sound[:, None, None], noisy, 0.0)
        for state, noise in zip_longest(self.latent_states.values(), noises):
            state.tick(noisy, prop, noise)
        tick = {
            "depth_noisy": code.to_bytes(noisy),
            "depth_clean": code.to_bytes(clean),
            "prop": prop,
            "actions": self.latent_state.actions,
            "body": obs["body_heights"],
            "foot": obs["foot_heights"],
            "first": self.latent_state.first,
            "valid": sound & valid,
        }
        self.replay.store(
            tick, self.latent_state.latent, None if self.mirrored is None else self.mirrored.latent
        )
