"""Observations in, actions without exploration out, with a world model behind them or without.

The one way to act in evaluation, films and audits. A policy that reads a latent state has it held
between ticks by `LatentState`, as in training, but with the likeliest z instead of a sample.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.policy.latent_state import LATENT, LatentState
from swap.policy.networks import Networks


class Agent:
    """Drives `n` worlds, and remembers what they have seen and been told to do."""

    def __init__(
        self, networks: Networks, n: int, device: str | torch.device, *, blind: bool = False
    ) -> None:
        """`blind`: the camera is blanked, the farthest in every pixel."""
        self.policy, self.model = networks
        assert not blind or self.model is not None, "there is no camera to blank"
        self.blind = blind
        self.latent_state = None if self.model is None else LatentState(self.model, n, device)
        self.ticked = False
        """The last observation was a tick of the world model."""

    @torch.no_grad()
    def act(self, obs: Mapping[str, Tensor], fresh: Tensor | None = None) -> Tensor:
        """The mean action [N, 12]; call once a control step. Worlds in `fresh` [N] have just begun
        (those of a new agent all have)."""
        if self.latent_state is None:
            return self.policy.mean(obs)
        self._look(self.latent_state, obs, fresh)
        action = self.policy.mean({**obs, LATENT: self.latent_state.h})
        self.latent_state.record(action)
        return action

    def _look(self, state: LatentState, obs: Mapping[str, Tensor], fresh: Tensor | None) -> None:
        if fresh is not None:
            state.reset(fresh)
        self.ticked = state.due
        if self.ticked:  # images are looked at only then
            seen = obs["depth_noisy"]
            seen = torch.ones_like(seen) if self.blind else seen
            state.tick(state.model.codec.from_linear(seen), state.model.prop_of(obs), None)
            state.finish_tick()
