"""Draws the velocity command of each world.

On a course the command is a forward speed along the lane. Free worlds (flat ground only) get
commands in any direction, sideways too, or to stand. The yaw rate is always computed from a heading
to hold.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from swap.env.cfg import CommandCfg
from swap.env.frame import wrap
from swap.env.random_source import RandomSource
from swap.sim import CONTROL_DT
from swap.state_dict import Buffers
from swap.symmetry import signs

SIDED = signs(-1, -1)
"""How sideways speed and heading mirror."""
FOREVER = 1 << 40


class Commands(Buffers):
    """The commands of N worlds."""

    value: Tensor
    """[N, 3]: forward m/s, left m/s, yaw rad/s: the present command."""
    heading_rad: Tensor
    """[N]: the heading to hold."""
    free: Tensor
    """[N] bool: the world is free, it follows no course."""
    stands: Tensor
    """[N] bool: the command is to stand."""
    left: Tensor
    """[N] long: control steps until the next command."""

    def __init__(
        self, cfg: CommandCfg, rng: RandomSource, known_empty: Callable[[Tensor], bool]
    ) -> None:
        """`known_empty` returns True if it knows that a mask is empty; work is then skipped."""
        n, device = rng.n, rng.device
        super().__init__(
            value=torch.zeros(n, 3, device=device),
            heading_rad=torch.zeros(n, device=device),
            free=torch.zeros(n, dtype=torch.bool, device=device),
            stands=torch.zeros(n, dtype=torch.bool, device=device),
            left=torch.zeros(n, dtype=torch.long, device=device),
        )
        self.cfg, self._rng, self._known_empty = cfg, rng, known_empty
        self._lasts = max(1, round(cfg.resample_s / CONTROL_DT))

    def start(self, mask: Tensor, flat: Tensor) -> None:
        """Begin new episodes in `mask` [N]; those on `flat` ground [N] may be free. The next
        `advance` draws their commands."""
        free = flat & (self._rng.uniform() < self.cfg.free_fraction)
        torch.where(mask, free, self.free, out=self.free)
        self.left.masked_fill_(mask, 0)

    def advance(self, heading_rad: Tensor, progress: Tensor) -> None:
        """Advance one control step: draw new commands where they are due, and update yaw rates from
        the headings [N]."""
        self.left -= 1
        over = self.left <= 0
        if not self._known_empty(over):
            self._sample(over, progress)
        self.steer(heading_rad)

    def hold(self, mask: Tensor, command: tuple[float, float, float]) -> None:
        """Set a command that lasts for ever in the worlds of `mask`: forward m/s, left m/s, and the
        heading to hold, rad."""
        for k in (0, 1):
            self.value[:, k].masked_fill_(mask, command[k])
        self.heading_rad.masked_fill_(mask, command[2])
        self.free.masked_fill_(mask, False)
        self.stands.masked_fill_(mask, not any(command))
        self.left.masked_fill_(mask, FOREVER)

    def steer(self, heading_rad: Tensor) -> None:
        """Set the yaw rate that turns the robot back to the heading to hold."""
        error = wrap(self.heading_rad - heading_rad)
        limit = self.cfg.yaw_limit_rps
        self.value[:, 2] = (self.cfg.yaw_gain * error).clamp_(-limit, limit)
        self.value[:, 2].masked_fill_(self.stands, 0)

    def _sample(self, mask: Tensor, progress: Tensor) -> None:
        cfg = self.cfg
        drawn, sided = self._rng.uniform(2), self._rng.signed(SIDED)
        slow, fast = cfg.forward_high_mps
        high = slow + (fast - slow) * progress
        low = torch.full_like(high, cfg.forward_low_mps)
        low.masked_fill_(self.free, -cfg.free_back_mps)
        free = self.free.to(low.dtype)[:, None]
        plan = torch.stack(
            [low + (high - low) * drawn[:, 0], sided[:, 0] * cfg.free_lateral_mps], 1
        )
        plan[:, 1:] *= free
        stands = self.free & (drawn[:, 1] < cfg.stand_fraction)
        small = (plan.square().sum(1) < cfg.small_mps**2) | stands
        plan.masked_fill_(small[:, None], 0)
        planar, rows = self.value[:, :2], mask[:, None]
        torch.where(rows, plan, planar, out=planar)
        heading = math.pi * sided[:, 1] * free[:, 0]
        torch.where(mask, heading, self.heading_rad, out=self.heading_rad)
        torch.where(mask, stands, self.stands, out=self.stands)
        self.left.masked_fill_(mask, self._lasts)
