"""Decides which episodes end, and why.

Only failures are `terminated`: nothing comes after them. All other ends are `truncated`, even
success: the robot could have gone on, so its value is bootstrapped. If success were `terminated`,
it would cost the reward of the rest of the episode, and a policy would learn to stop just before
it.
"""

import math
from dataclasses import dataclass
from enum import IntEnum

import torch
from torch import Tensor

from swap.courses import HOLD_S, Goals, fallen
from swap.env.cfg import TerminationCfg
from swap.env.frame import Frame
from swap.robots import Robot
from swap.sim import CONTROL_DT, GRAVITY


class EndReason(IntEnum):
    """Why an episode ended. From FAILURES on, it was the robot's fault."""

    RUNNING = 0
    TIME = 1
    """The time limit."""
    SUCCESS = 2
    """Beyond the goal, upright, for half a second."""
    STRAYED = 3
    """A free robot came near the end of its ground."""
    DIVERGED = 4
    """The physics diverged; nothing is learned from it."""
    FALLEN = 5
    """The robot is below all ground."""
    UPSIDE_DOWN = 6
    TRUNK = 7
    """The trunk touched flat ground, or hit something hard."""
    OFF_LANE = 8
    STALLED = 9
    """No headway under a forward command."""


FAILURES = EndReason.FALLEN


@dataclass(frozen=True)
class Verdict:
    """How episodes ended, [N] each."""

    reason: Tensor  # long, an EndReason
    terminated: Tensor  # bool: failure, no value beyond
    truncated: Tensor  # bool: the value is bootstrapped
    success: Tensor  # bool

    @property
    def ended(self) -> Tensor:
        return self.reason > 0


class Terminations:
    def __init__(self, cfg: TerminationCfg, robot: Robot) -> None:
        self._cfg = cfg
        self._steps = round(cfg.episode_length_s / CONTROL_DT)
        self._stall_s = math.inf if cfg.stall_s is None else cfg.stall_s
        self._hard_n = cfg.trunk_hard * robot.mass * GRAVITY

    def __call__(self, f: Frame, goals: Goals, alive: Tensor) -> Verdict:
        """Judge the frame; worlds that are not `alive` [N] have no episode that could end."""
        cfg = self._cfg
        x_y = f.base_pos[:, :2]
        touched = (f.trunk_force > cfg.trunk_touch_n) & f.flat
        tilt = f.gravity_b[:, 2]
        over = (tilt > cfg.tilt_z) | ((tilt > cfg.tilt_flat_z) & f.flat)
        causes = (  # of two at once the later one counts
            (EndReason.TIME, f.steps >= self._steps),
            (EndReason.STRAYED, ~f.has_goal & (x_y.abs().amax(1) > cfg.stray_m)),
            (EndReason.STALLED, f.stalled_s >= self._stall_s - CONTROL_DT / 2),
            (EndReason.SUCCESS, f.held_s >= HOLD_S - CONTROL_DT / 2),
            (EndReason.OFF_LANE, f.has_goal & (x_y[:, 1].abs() > goals.lane)),
            (EndReason.TRUNK, touched | (f.trunk_force > self._hard_n)),
            (EndReason.UPSIDE_DOWN, over),
            (EndReason.FALLEN, fallen(f.base_pos)),
            (EndReason.DIVERGED, f.failed),
        )
        reason = torch.zeros_like(f.steps)
        for end, mask in causes:
            reason.masked_fill_(mask, int(end))
        reason.masked_fill_(~alive, int(EndReason.RUNNING))
        terminated = reason >= int(FAILURES)
        return Verdict(
            reason, terminated, (reason > 0) & ~terminated, reason == int(EndReason.SUCCESS)
        )
