"""Acts without exploration noise, with a world model or without.

Evaluation, films and audits all act this way. For a policy that reads a latent state, `LatentState`
holds it between ticks, as in training, but z is its mode instead of a sample.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.policy import fast_actor
from swap.policy.latent_state import LATENT, LatentState, TickInputs
from swap.policy.networks import Networks
from swap.world_model import WorldModel


class Agent:
    """Acts in `n` worlds and keeps the latent state and the last actions of each."""

    def __init__(
        self,
        networks: Networks,
        n: int,
        device: str | torch.device,
        *,
        blind: bool = False,
        fast: bool = False,
    ) -> None:
        """`blind` replaces every pixel by the farthest depth. `fast` uses folded weights on a CPU,
        for few robots in a fraction of the time: actions are then the same, and those of mirrored
        observations mirrored, only up to rounding."""
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
        """Whether the world model ticked at the last observation."""

    @torch.no_grad()
    def act(self, obs: Mapping[str, Tensor], fresh: Tensor | None = None) -> Tensor:
        """Returns the mean action [N, 12]; call it once per control step. In the worlds marked in
        `fresh` [N] an episode has just begun (for a new agent, in all)."""
        if self.latent_state is None:
            return self._mean(obs)
        state = self.latent_state
        self.ticked = state.observe(fresh, lambda: self._read(state.model, obs))
        action = self._mean({**obs, LATENT: state.h})
        state.record(action)
        return action

    def _read(self, model: WorldModel, obs: Mapping[str, Tensor]) -> TickInputs:
        depth = obs["depth_noisy"]
        depth = torch.ones_like(depth) if self.blind else depth
        return model.codec.from_linear(depth), model.prop_of(obs), None
