"""Stores the ticks of all worlds in rings on the device, and samples sequences from them.

Images are bytes, the rest half precision: 10 kB a tick and world. A latent is kept with every tick,
so that a sequence from the middle of an episode can begin with what was known there.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.errors import UserError
from swap.world_model import Latent, Sequences, WorldModel

SMALL = 64 * 2**20
"""Bytes up to which a replay is part of a checkpoint; a larger one fills again in seconds."""


LATENTS = ("h", "z", "mirrored_h", "mirrored_z")
"""What a tick led to; all else is what it was made of."""


class ReplayBuffer:
    """The last `ticks` ticks of `n` worlds."""

    def __init__(
        self, model: WorldModel, n: int, ticks: int, device: torch.device, *, mirrored: bool = False
    ) -> None:
        """`mirrored`: keep the latents of the mirrored worlds, too."""
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
        """Where the next tick goes."""
        self.filled = torch.tensor(0)
        """Ticks there are; on the CPU, so that nobody has to ask the device."""

    def store(
        self, tick: Mapping[str, Tensor], latent: Latent, mirrored: Latent | None = None
    ) -> None:
        """One tick of all worlds, [N, ...] each, and the latent it led to. Recordable; the host's
        half is `stored`."""
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
        """How many places a sequence of that length can begin at. The oldest tick is no such place:
        what was known before it is gone."""
        return max(0, int(self.filled) - length)

    def take(
        self, worlds: Tensor, starts: Tensor, length: int, *, mirrored: bool = False
    ) -> Sequences:
        """Sequences of `worlds` [B], each from its start [B] on, as `pick` gives them; with the
        context of the twin, if asked for."""
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
        """Uniform numbers in [0, 1) [B] -> starts for `take` [B]: how many slots past the one that
        is written next, which in a full ring is the oldest."""
        if not self.starts(length):
            raise UserError(f"{self.filled} ticks hold no sequence of {length} after a first one")
        empty = self.ticks - int(self.filled)  # slots from the next one on that hold nothing yet
        return empty + 1 + (chance * self.starts(length)).long()

    # --- resume ---------------------------------------------------------------------------------
    @property
    def small(self) -> bool:
        return sum(x.nbytes for x in self.data.values()) <= SMALL

    def state_dict(self) -> dict[str, Tensor]:
        """All there is, live; nothing if there is too much of it."""
        return {**self.data, "slot": self.slot, "filled": self.filled} if self.small else {}

    def clear(self) -> None:
        """Forget all ticks."""
        self.filled.zero_()
