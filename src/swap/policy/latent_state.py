"""Updates the latent state at the world model's rate and holds h for the k control steps in
between.

Training, evaluation and play use this same code: call `observe` after every observation and
`record` after every action. All tensors are made once and written in place, so that CUDA graphs can
read them.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from swap.nn.weight_cache import WeightCache
from swap.state_dict import Buffers
from swap.world_model import WorldModel, fast_tick

LATENT = "latent"
"""The name under which a policy reads h."""
TickInputs: TypeAlias = tuple[Tensor, Tensor, Tensor | None]
"""Depth [N, rows, cols] in the networks' range, proprioception [N, 33], and Gumbel noise [N, z]
(None: z is the mode)."""


class TickClock(Buffers):
    """Says when the world model ticks: at the first observation, and then every `k` control
    steps."""

    count: Tensor
    """Number of actions since the last tick; on the CPU, because the host needs it."""

    def __init__(self, k: int) -> None:
        super().__init__(count=torch.tensor(k))  # no tick yet, so the first is due
        self.k = k

    @property
    def due(self) -> bool:
        """Whether the next observation is a tick."""
        return int(self.count) == self.k

    def observe(
        self, fresh: Tensor | None, reset: Callable[[Tensor], None], tick: Callable[[], None]
    ) -> bool:
        """Takes a new observation: calls `reset` for the worlds in `fresh` [N], whose episodes have
        just begun, and `tick` if one is due. Returns whether it was."""
        if fresh is not None:
            reset(fresh)
        if not self.due:
            return False
        tick()
        self.count.zero_()
        return True

    def record(self) -> int:
        """Counts a new action and returns its index among those since the last tick."""
        assert not self.due, f"{self.k} actions since the last tick; observe before the next"
        place = int(self.count)
        self.count.add_(1)
        return place


class LatentState(Buffers):
    """The latents of `n` worlds, which tick together every k control steps.

    A world that is reset loses its latent at once, not at the next tick: until then the actor reads
    zero, never the memory of the last episode. The next tick is the first of the new episode.
    """

    h: Tensor
    """sg(h) [N, deter], which actor and critic read; the next tick overwrites it."""
    z: Tensor
    actions: Tensor
    """[N, k, 12]: the actions since the last tick, oldest first; at a tick those that led to it,
    which stay until the next `record`."""
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
        """`clock`: that of another LatentState, to tick together with it; `fast`: see `Agent`."""
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
        """h and z after the last tick, or zero."""
        self._fast: WeightCache[fast_tick.FastTick] | None = None
        if fast and fast_tick.usable(model):
            self._fast = WeightCache()
            self._weights = [*model.encoder.parameters(), *model.rssm.parameters()]

    # --- every control step ---------------------------------------------------------------------
    def observe(self, fresh: Tensor | None, read: Callable[[], TickInputs]) -> bool:
        """Takes a new observation; in the worlds in `fresh` [N] an episode has just begun. `read`
        is called only at a tick. Returns whether this was one."""
        return self.clock.observe(fresh, self.reset, lambda: self.tick(*read()))

    def record(self, action: Tensor) -> None:
        """Takes the action [N, 12] that the worlds execute next, as the motors get it."""
        self.write(action, self.clock.record())

    # --- the parts, for CUDA graphs and for a shared clock --------------------------------------
    @torch.no_grad()
    def reset(self, mask: Tensor) -> None:
        """Clears the latents and actions of the worlds in `mask` [N] at once."""
        for x in self.latent:
            x.masked_fill_(mask[:, None], 0.0)
        self.actions.masked_fill_(mask[:, None, None], 0.0)
        self.fresh.logical_or_(mask)

    @torch.no_grad()
    def tick(self, depth: Tensor, prop: Tensor, noise: Tensor | None) -> None:
        """Updates the latents; for the arguments see `TickInputs`. Always runs the same kernels, so
        that it can be recorded."""
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
        """Stores the action [N, 12] that followed `place` others since the last tick."""
        self.actions[:, place].copy_(action)

    # --- resume ---------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """The tensors that change, not copies of them."""
        return {**super().state_dict(), **self.clock.state_dict()}
