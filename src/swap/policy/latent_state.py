"""Updates the latent state at the world model's rate and holds h for the k control steps in
between.

The same code in training, evaluation and play: after every observation `observe`, after every
decision `record`. All tensors are made once and written in place, so that recordings can read them.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from swap.nn.prepared import Prepared
from swap.state_dict import Buffers
from swap.world_model import WorldModel, fast_tick

LATENT = "latent"
"""The name under which a policy reads h."""
Seen: TypeAlias = tuple[Tensor, Tensor, Tensor | None]
"""Depth [N, rows, cols] in the networks' range, proprioception [N, 33], and Gumbel noise [N, z], or
none for the likeliest z."""


class TickClock(Buffers):
    """When the world model ticks: at the first observation, and then every `k` control steps."""

    count: Tensor
    """Actions since the last tick, on the CPU: the host has to know."""

    def __init__(self, k: int) -> None:
        super().__init__(count=torch.tensor(k))  # there has been none: the first is due
        self.k = k

    @property
    def due(self) -> bool:
        """The next observation is a tick."""
        return int(self.count) == self.k

    def observe(
        self, fresh: Tensor | None, reset: Callable[[Tensor], None], tick: Callable[[], None]
    ) -> bool:
        """A new observation: worlds in `fresh` [N] have just begun and are `reset`; then, if it is
        time, `tick`. Returns whether it was."""
        if fresh is not None:
            reset(fresh)
        if not self.due:
            return False
        tick()
        self.count.zero_()
        return True

    def record(self) -> int:
        """A new action: its place among those since the last tick."""
        assert not self.due, f"{self.k} actions since the last tick; observe before the next"
        place = int(self.count)
        self.count.add_(1)
        return place


class LatentState(Buffers):
    """The latents of `n` worlds, which tick together every k control steps.

    A world that is reset loses its latent at once, not at the next tick: until then the actor reads
    zero, never the memory of another life. Its next tick is then the first of its episode.
    """

    h: Tensor
    """sg(h) [N, deter], for actor and critic; overwritten by the next tick."""
    z: Tensor
    actions: Tensor
    """[N, k, 12]: since the last tick, oldest first; at a tick those that led to it, which stay
    until the next `record`."""
    fresh: Tensor
    """[N] bool: reset since the last tick."""
    first: Tensor
    """[N] bool: the last tick was the first of its episode."""

    def __init__(
        self,
        model: WorldModel,
        n: int,
        device: str | torch.device,
        clock: TickClock | None = None,
        *,
        fast: bool = False,
    ) -> None:
        """`clock`: another's, to tick with it; `fast`: as in `Agent`."""
        latent, clock = model.initial(n, device), clock or TickClock(model.k)
        super().__init__(
            h=latent.h,
            z=latent.z,
            actions=torch.zeros(n, clock.k, model.action.dim, device=device),
            fresh=torch.ones(n, dtype=torch.bool, device=device),
            first=torch.ones(n, dtype=torch.bool, device=device),
        )
        self.model, self.clock = model, clock
        self.latent = latent
        """h and z: what the last tick left, or zero."""
        self._fast: Prepared[fast_tick.FastTick] | None = None
        if fast and fast_tick.usable(model):
            self._fast = Prepared()
            self._weights = [*model.encoder.parameters(), *model.rssm.parameters()]

    # --- every control step ---------------------------------------------------------------------
    def observe(self, fresh: Tensor | None, read: Callable[[], Seen]) -> bool:
        """A new observation; worlds in `fresh` [N] have just begun. What there is to see is `read`
        at ticks only. Returns whether this was one."""
        return self.clock.observe(fresh, self.reset, lambda: self.tick(*read()))

    def record(self, action: Tensor) -> None:
        """The action [N, 12] the worlds are given next, as the motors get it."""
        self.write(action, self.clock.record())

    # --- its parts, for those who record them or share a clock ----------------------------------
    @torch.no_grad()
    def reset(self, mask: Tensor) -> None:
        """Worlds in `mask` [N] forget everything, now."""
        for x in self.latent:
            x.masked_fill_(mask[:, None], 0.0)
        self.actions.masked_fill_(mask[:, None, None], 0.0)
        self.fresh.logical_or_(mask)

    @torch.no_grad()
    def tick(self, depth: Tensor, prop: Tensor, noise: Tensor | None) -> None:
        """See `Seen`. Tensors to tensors, the same work each time."""
        if self._fast is not None and noise is None:
            tick = self._fast(self._weights, lambda: fast_tick.FastTick(self.model, len(depth)))
            new = tick(self.latent, self.actions, depth, prop, self.fresh)
        else:
            embedding = self.model.embed(depth, prop)
            new = self.model.tick(self.latent, self.actions, embedding, self.fresh, noise)
        for old, x in zip(self.latent, new, strict=True):
            old.copy_(x)
        self.first.copy_(self.fresh)
        self.fresh.zero_()

    @torch.no_grad()
    def write(self, action: Tensor, place: int) -> None:
        """The action [N, 12] after `place` others since the last tick."""
        self.actions[:, place].copy_(action)

    # --- resume ---------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """All that changes, live."""
        return {**super().state_dict(), **self.clock.state_dict()}
