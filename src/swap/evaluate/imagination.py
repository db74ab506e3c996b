"""Shows what an agent's world model believes it sees, and what it predicted earlier.

Two reconstructions at every tick, from the same decoder: one of the present latent, which has seen
the camera's image, and one of the latent of 20 ticks (2 s) ago, taken on to the present by the
actions since and nothing else. Early in an episode the oldest latent there is takes its place.

The latents of all ticks since are taken on together, a step a tick, as rows of one batch: a tick
costs one step of the prior, however far the prediction reaches.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from swap.policy import Agent
from swap.world_model import Latent, Reconstruction

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


class Imagination:
    """`follow` the agent after every action; `images` are those of the last tick."""

    def __init__(self, agent: Agent, ticks: int = TICKS) -> None:
        assert agent.model is not None, "there is no world model to ask"
        assert agent.latent_state is not None
        self._agent, self._model, self._state = agent, agent.model, agent.latent_state
        self._ticks = ticks
        self._chains: Latent | None = None  # [ticks + 1, N, ...], oldest first: of now
        self._actions: list[Tensor] = []  # [N, 12], since the last tick
        self.images: Images | None = None
        self.believed: Reconstruction | None = None
        """All that the decoder makes of the present latent."""
        self.foreseen: Reconstruction | None = None
        """And of the one that was taken on."""
        self.code, self.k = self._model.codec, self._model.k

    @torch.no_grad()
    def follow(self, action: Tensor) -> None:
        """`action` [N, 12]: what `agent.act` has just given."""
        if self._agent.ticked:
            self._advance()
            self._actions.clear()
        self._actions.append(action.clone())

    def _advance(self) -> None:
        now = self._state.latent.map(lambda x: x[None].clone())
        if self._chains is None:
            self._chains = now
        else:
            taken_on = self._predict(self._chains.map(lambda x: x[-self._ticks :]))
            self._chains = Latent(*map(torch.cat, zip(taken_on, now, strict=True)))
        self.believed = self._model.decode(self._chains.map(lambda x: x[-1]))
        self.foreseen = self._model.decode(self._chains.map(lambda x: x[0]))
        self.images = Images(
            self.code.to_linear(self.believed.depth),
            self.code.to_linear(self.foreseen.depth),
            len(self._chains.h) - 1,
        )

    def _predict(self, chains: Latent) -> Latent:
        """All chains [C, N, ...], one tick on by the actions since the last."""
        count, n = chains.h.shape[:2]
        since = torch.stack(self._actions, 1).expand(count, -1, -1, -1).flatten(0, 1)
        ahead = self._model.predict(chains.map(lambda x: x.flatten(0, 1)), since, None)
        return ahead.map(lambda x: x.unflatten(0, (count, n)))
