"""Observations at the control rate in, h at the world model's rate out, held for k steps between.

The same code in training, evaluation and play: after every observation `observe`, after every
decision `record`. All tensors are made once and written in place, so that recordings can read them.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from swap.errors import UserError
from swap.world_model import WorldModel

LATENT = "latent"
"""The name under which a policy reads h."""


class LatentState:
    """The latents of `n` worlds, which tick together every k control steps.

    A world that is reset loses its latent at once, not at the next tick: until then the actor reads
    zero, never the memory of another life. Its next tick is then the first of its episode.
    """

    def __init__(self, model: WorldModel, n: int, device: str | torch.device) -> None:
        self.model, self.k = model, model.k
        self.latent = model.initial(n, device)
        """[N, ...]: what the last tick left, or zero."""
        self.actions = torch.zeros(n, self.k, model.action.dim, device=device)
        """[N, k, 12]: since the last tick, oldest first; at a tick those that led to it, which stay
        until the next `record`."""
        self.fresh = torch.ones(n, dtype=torch.bool, device=device)
        """[N]: reset since the last tick."""
        self.first = torch.ones(n, dtype=torch.bool, device=device)
        """[N]: the last tick was the first of its episode."""
        self.count = self.k
        """Actions since the last tick. There has been none: the first observation is a tick."""

    @property
    def h(self) -> Tensor:
        """sg(h) [N, deter], for actor and critic; overwritten by the next tick."""
        return self.latent.h

    # --- every control step ---------------------------------------------------------------------
    def observe(self, depth: Tensor, prop: Tensor, fresh: Tensor, noise: Tensor | None) -> bool:
        """A new observation: depth [N, rows, cols] in the networks' range, proprioception [N, 33];
        worlds in `fresh` [N] have just begun. Gumbel noise [N, z], or none for the likeliest z.

        Images and noise are read at ticks only. Returns whether this was one.
        """
        self.reset(fresh)
        if not self.due:
            return False
        self.tick(depth, prop, noise)
        self.finish_tick()
        return True

    @torch.no_grad()
    def record(self, action: Tensor) -> None:
        """The action [N, 12] the worlds are given next, as the motors get it."""
        assert not self.due, f"{self.k} actions since the last tick; observe before the next"
        self.actions[:, self.count].copy_(action)
        self.count += 1

    # --- its parts, for those who record them ---------------------------------------------------
    @torch.no_grad()
    def reset(self, mask: Tensor) -> None:
        """Worlds in `mask` [N] forget everything, now."""
        for x in self.latent:
            x.masked_fill_(mask[:, None], 0.0)
        self.actions.masked_fill_(mask[:, None, None], 0.0)
        self.fresh.logical_or_(mask)

    @torch.no_grad()
    def tick(self, depth: Tensor, prop: Tensor, noise: Tensor | None) -> None:
        """Tensors to tensors, the same work each time; `finish_tick` is the other half."""
        embedding = self.model.embed(depth, prop)
        new = self.model.tick(self.latent, self.actions, embedding, self.fresh, noise)
        for old, x in zip(self.latent, new, strict=True):
            old.copy_(x)
        self.first.copy_(self.fresh)
        self.fresh.zero_()

    @property
    def due(self) -> bool:
        """The next observation is a tick."""
        return self.count == self.k

    def finish_tick(self) -> None:
        """What a tick changes outside of the device."""
        self.count = 0

    # --- resume ---------------------------------------------------------------------------------
    def tensors(self) -> dict[str, Tensor]:
        """All that changes, as it stands; clone to keep."""
        return {
            **self.latent._asdict(),
            "actions": self.actions,
            "fresh": self.fresh,
            "first": self.first,
        }

    def numbers(self) -> dict[str, Any]:
        return {"count": self.count}

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Exactly the state that gave these, in place."""
        for name, x in self.tensors().items():
            if name not in tensors or tensors[name].shape != x.shape:
                saved = list(tensors[name].shape) if name in tensors else "missing"
                raise UserError(
                    f"latent state '{name}' was saved as {saved}, here it is {list(x.shape)}; "
                    "resume with the config of the run"
                )
            x.copy_(tensors[name])
        self.count = numbers["count"]
