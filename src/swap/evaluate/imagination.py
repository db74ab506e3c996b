"""Shows what an agent's world model believes it sees, and what it predicted earlier.

Two images at every tick, from the same decoder: one of the present latent, which has seen the
camera's image, and one of the latent of 20 ticks (2 s) ago, taken on to the present by the actions
since and nothing else. Early in an episode the oldest latent there is takes its place.
"""

from collections import deque
from typing import NamedTuple

import torch
from torch import Tensor

from swap.policy import Agent
from swap.world_model import Latent

TICKS = 20
"""How far back the prediction was made, at most."""


class Images(NamedTuple):
    """[N, rows, cols] in [0, 1], as a camera gives them."""

    believed: Tensor
    """Reconstructed from the posterior."""
    foreseen: Tensor
    """Predicted."""
    ticks: int
    """Age of the prediction: 0 at the first tick, where there is nothing before."""


class _Moment(NamedTuple):
    latent: Latent
    actions: list[Tensor]  # [N, 12], those that followed


class Imagination:
    """`follow` the agent after every action; `images` are those of the last tick."""

    def __init__(self, agent: Agent, ticks: int = TICKS) -> None:
        assert agent.model is not None, "there is no world model to ask"
        assert agent.latent_state is not None
        self._agent, self._model, self._state = agent, agent.model, agent.latent_state
        self._past: deque[_Moment] = deque(maxlen=ticks + 1)
        self.images: Images | None = None
        self.code, self.k = self._model.codec, self._model.k

    @torch.no_grad()
    def follow(self, action: Tensor) -> None:
        """`action` [N, 12]: what `agent.act` has just given."""
        if self._agent.ticked:
            self._past.append(_Moment(self._state.latent.map(torch.clone), []))
            self.images = self._imagine()
        self._past[-1].actions.append(action.clone())

    def _imagine(self) -> Images:
        *before, now = self._past
        foreseen = now.latent
        if before:
            since = torch.stack([torch.stack(moment.actions, 1) for moment in before], 1)
            ahead = self._model.imagine(before[0].latent, since, None)  # [N, T, ...]
            foreseen = ahead.map(lambda x: x[:, -1])
        return Images(self._image(now.latent), self._image(foreseen), len(before))

    def _image(self, latent: Latent) -> Tensor:
        return self.code.to_linear(self._model.decode(latent).depth)
