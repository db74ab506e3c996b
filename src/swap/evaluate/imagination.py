"""Shows what an agent's world model reconstructs, and what it predicted earlier.

At every tick the same decoder makes two reconstructions: one from the present latent, which has
seen the camera's image, and one from the latent of 20 ticks (2 s) ago, predicted to the present
from the actions alone. Early in an episode the oldest latent is used instead.

The latents of all ticks since then are predicted together, one step per tick, as rows of one batch:
a tick costs one step of the prior, however far the prediction reaches.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from swap.policy import Agent
from swap.world_model import Latent, Reconstruction

TICKS = 20
"""How many ticks ago the prediction was made, at most."""


class Images(NamedTuple):
    """Depth images [N, rows, cols] in [0, 1], as a camera gives them."""

    reconstructed: Tensor
    """Reconstructed from the posterior."""
    predicted: Tensor
    """Predicted by the prior."""
    ticks: int
    """Age of the prediction in ticks; 0 at the first tick, which has none before it."""


class Imagination:
    """Call `follow` after every action of the agent; `images` are those of the last tick."""

    def __init__(self, agent: Agent, ticks: int = TICKS) -> None:
        assert agent.model is not None, "there is no world model to ask"
        assert agent.latent_state is not None
        self._agent, self._model, self._state = agent, agent.model, agent.latent_state
        self._ticks = ticks
        self._chains: Latent | None = None  # [ticks + 1, N, ...] of the present, oldest first
        self._actions: list[Tensor] = []  # [N, 12], since the last tick
        self.images: Images | None = None
        self.reconstructed: Reconstruction | None = None
        """What the decoder makes of the present latent."""
        self.predicted: Reconstruction | None = None
        """What the decoder makes of the predicted latent."""
        self.code, self.k = self._model.codec, self._model.k

    @torch.no_grad()
    def follow(self, action: Tensor) -> None:
        """Takes the `action` [N, 12] that `agent.act` has just returned."""
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
        self.reconstructed = self._model.decode(self._chains.map(lambda x: x[-1]))
        self.predicted = self._model.decode(self._chains.map(lambda x: x[0]))
        self.images = Images(
            self.code.to_linear(self.reconstructed.depth),
            self.code.to_linear(self.predicted.depth),
            len(self._chains.h) - 1,
        )

    def predicted_proprioception(self) -> dict[str, Tensor] | None:
        """What the decoder makes of the joints and the body, by name, [N, ...] each, from the
        predicted latent; None before the first tick, or if the model does not read them."""
        group, reads = "proprioception", self._model.cfg.reads
        if self.predicted is None or group not in reads:
            return None
        parts = self._model.prop.unpack(self.predicted.prop)
        ours = "" if len(reads) == 1 else f"{group}."
        return {name.removeprefix(ours): x for name, x in parts.items() if name.startswith(ours)}

    def _predict(self, chains: Latent) -> Latent:
        """Predicts all chains [C, N, ...] one tick ahead, from the actions since the last tick."""
        count, n = chains.h.shape[:2]
        since = torch.stack(self._actions, 1).expand(count, -1, -1, -1).flatten(0, 1)
        ahead = self._model.predict(chains.map(lambda x: x.flatten(0, 1)), since, None)
        return ahead.map(lambda x: x.unflatten(0, (count, n)))
