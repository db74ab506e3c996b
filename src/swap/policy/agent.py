"""Acts without exploration noise, with a world model or without.

The one way to act in evaluation, films and audits. A policy that reads a latent state has it held
between ticks by `LatentState`, as in training, but with the likeliest z instead of a sample.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.policy import fast_actor
from swap.policy.latent_state import LATENT, LatentState, Seen
from swap.policy.networks import Networks
from swap.world_model import WorldModel


class Agent:
    """Drives `n` worlds, and remembers what they have seen and been told to do."""

    def __init__(
        self,
        networks: Networks,
        n: int,
        device: str | torch.device,
        *,
        blind: bool = False,
        fast: bool = False,
    ) -> None:
        """`blind`: the camera is blanked, the farthest in every pixel. `fast`: on a CPU, act by
        folded weights in a fraction of the time, for few robots. Actions are then the same, and
        mirrored ones mirrored, up to rounding only; without it, to the last bit."""
        self.policy, self.model = networks
        assert not blind or self.model is not None, "there is no camera to blank"
        self.blind = blind
        self.latent_state = None
        if self.model is not None:
            self.latent_state = LatentState(self.model, n, device, fast=fast)
        self._mean = self.policy.mean
        if fast and fast_actor.usable(self.policy):
            self._mean = fast_actor.FastActor(self.policy)
        self.ticked = False
        """The last observation was a tick of the world model."""

    @torch.no_grad()
    def act(self, obs: Mapping[str, Tensor], fresh: Tensor | None = None) -> Tensor:
        """The mean action [N, 12]; call once a control step. Worlds in `fresh` [N] have just begun
        (those of a new agent all have)."""
        if self.latent_state is None:
            return self._mean(obs)
        state = self.latent_state
        self.ticked = state.observe(fresh, lambda: self._read(state.model, obs))
        action = self._mean({**obs, LATENT: state.h})
        state.record(action)
        return action

    def _read(self, model: WorldModel, obs: Mapping[str, Tensor]) -> Seen:
        depth = obs["depth_noisy"]
        depth = torch.ones_like(depth) if self.blind else depth
        return model.codec.from_linear(depth), model.prop_of(obs), None
