"""Stores the ticks of all worlds in rings on the device, and samples sequences from them.

Images are stored as bytes, the rest in half precision: 10 kB per tick and world. The latent is
stored with every tick, so that a sequence from the middle of an episode can begin with the latent
of that moment.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.errors import UserError
from swap.world_model import Latent, Sequences, WorldModel

SMALL = 64 * 2**20
"""A replay of up to this many bytes is part of a checkpoint; a larger one fills again in
seconds."""


LATENTS = ("h", "z", "mirrored_h", "mirrored_z")
"""The results of a tick; everything else is its inputs."""


class ReplayBuffer:
    """The last `ticks` ticks of `n` worlds."""

    def __init__(
        self, model: WorldModel, n: int, ticks: int, device: torch.device, *, mirrored: bool = False
    ) -> None:
        """`mirrored`: also keep the latents of the mirrored worlds."""
        cfg = model.cfg
        self.n, self.ticks, self._classes = n, ticks, cfg.classes

        def make(*shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
            return torch.zeros(ticks, n, *shape, dtype=dtype, device=device)

        self.data = {
            "depth_noisy": make(*model.image, dtype=torch.uint8),
            "depth_clean": make(*model.image, dtype=torch.uint8),
            "prop": make(model.prop.dim),
            "actions": make(model.k, model.action.dim),
            "body": make(model.body.dim),
            "foot": make(model.foot.dim),
            "first": make(dtype=torch.bool),
            "valid": make(dtype=torch.bool),
            "h": make(cfg.deter),
            "z": make(cfg.variables, dtype=torch.uint8),
        }
        if mirrored:
            self.data |= {f"mirrored_{x}": torch.zeros_like(self.data[x]) for x in ("h", "z")}
        self.slot = torch.zeros(1, dtype=torch.long, device=device)
        """The slot of the next tick."""
        self.filled = torch.tensor(0)
        """Number of ticks stored; on the CPU, so that nothing has to wait for the device."""

    def store(
        self, tick: Mapping[str, Tensor], latent: Latent, mirrored: Latent | None = None
    ) -> None:
        """Stores one tick of all worlds, [N, ...] each, and the latent it led to. This part can be
        recorded; `stored` does the part on the host."""
        tick = {**tick, **self._coded(latent)}
        if mirrored is not None:
            tick = {**tick, **{f"mirrored_{name}": x for name, x in self._coded(mirrored).items()}}
        for name, kept in self.data.items():
            kept.index_copy_(0, self.slot, tick[name].to(kept.dtype)[None])
        self.slot.add_(1).remainder_(self.ticks)

    def _coded(self, latent: Latent) -> dict[str, Tensor]:
        variables = latent.z.unflatten(-1, (-1, self._classes))
        return {"h": latent.h, "z": variables.argmax(-1)}

    def stored(self) -> None:
        self.filled.add_(1).clamp_(max=self.ticks)

    def starts(self, length: int) -> int:
        """The number of ticks at which a sequence of that length can begin. The oldest tick is not
        one of them: the latent before it is gone."""
        return max(0, int(self.filled) - length)

    def take(
        self, worlds: Tensor, starts: Tensor, length: int, *, mirrored: bool = False
    ) -> Sequences:
        """Returns sequences of `worlds` [B], each from its start [B] on, as `pick` gives them.
        `mirrored`: with the latent of the mirrored world as context."""
        begin = self.slot + starts
        slots = (begin[:, None] + torch.arange(length, device=begin.device)) % self.ticks
        rows = slots * self.n + worlds[:, None]  # [B, T]
        before = ((begin - 1) % self.ticks) * self.n + worlds  # [B]
        got = {
            name: kept.flatten(0, 1).index_select(0, rows.flatten()).unflatten(0, rows.shape)
            for name, kept in self.data.items()
            if name not in LATENTS
        }
        names = LATENTS[2:] if mirrored else LATENTS[:2]
        h, z = (self.data[name].flatten(0, 1).index_select(0, before) for name in names)
        context = Latent(h.float(), F.one_hot(z.long(), self._classes).float().flatten(-2))
        floats = ("prop", "actions", "body", "foot")
        return Sequences(
            **{name: x.float() if name in floats else x for name, x in got.items()},
            context=context,
        )

    def pick(self, chance: Tensor, length: int) -> Tensor:
        """Turns uniform numbers in [0, 1) [B] into starts for `take` [B]: how many slots past the
        one that is written next, which in a full ring is the oldest."""
        if not self.starts(length):
            raise UserError(f"{self.filled} ticks hold no sequence of {length} after a first one")
        empty = self.ticks - int(self.filled)  # slots from the next one on that hold nothing yet
        return empty + 1 + (chance * self.starts(length)).long()

    # --- resume ---------------------------------------------------------------------------------
    @property
    def small(self) -> bool:
        return sum(x.nbytes for x in self.data.values()) <= SMALL

    def state_dict(self) -> dict[str, Tensor]:
        """All tensors, not copies of them; empty if the replay is too large for a checkpoint."""
        return {**self.data, "slot": self.slot, "filled": self.filled} if self.small else {}

    def clear(self) -> None:
        """Drops all ticks."""
        self.filled.zero_()
