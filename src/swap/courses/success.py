"""Decides which robots have crossed their course. It knows no robot and no clock.

Success is to be `reached` for HOLD_S without a break; `held` counts the time. Every test is the
same, bit for bit, for the mirrored robot on the mirrored course.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from swap.courses.course import Course

PAST_M = 0.8
"""The base this far past the obstacle's far edge."""
UPRIGHT = -0.7
"""The body's projected gravity z is below this; -1 is level."""
HOLD_S = 0.5
FALLEN_Z = -0.8
"""Ground inside the lane is above this everywhere, with room for a crouch; pits are below."""
SUNK_M = 0.05
"""A foot may be this far below the support's surface: soft contacts, the end of a round foot."""
LIFTED_M = 0.5
"""A foot this high above the support may be in swing (young policies step high, .43 m was seen)."""


@dataclass(frozen=True)
class Goals:
    """Where success lies for each world, all [N]."""

    x: Tensor
    """The obstacle's far edge."""
    z: Tensor
    """Height of the far support on the midline."""
    tilt: Tensor
    """Its slope in y."""
    lane: Tensor
    """Half width of the lane."""


def goals(courses: Sequence[Course], device: str = "cpu") -> Goals:
    def column(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=device)

    return Goals(
        x=column([course.goal_x for course in courses]),
        z=column([course.goal_z for course in courses]),
        tilt=column([course.goal_tilt for course in courses]),
        lane=column([course.lane for course in courses]),
    )


def reached(goals: Goals, base_pos: Tensor, gravity_z: Tensor, foot_pos: Tensor) -> Tensor:
    """Base [N, 3], body-frame gravity z [N], feet [N, F, 3], all metres, world frame -> [N] bool.

    True for a robot past the obstacle, all feet on the far support, upright, in its lane.
    """
    past = base_pos[:, 0] > goals.x + PAST_M
    in_lane = base_pos[:, 1].abs() < goals.lane
    upright = gravity_z < UPRIGHT
    support = goals.z[:, None] + foot_pos[:, :, 1] * goals.tilt[:, None]  # [N, F]
    above = foot_pos[:, :, 2] - support
    on_it = (above > -SUNK_M) & (above < LIFTED_M) & (foot_pos[:, :, 0] > goals.x[:, None])
    return past & in_lane & upright & on_it.all(1)


def held(time_s: Tensor, now: Tensor, dt_s: float) -> Tensor:
    """How long each robot has been `reached` without a break [N]; success is >= HOLD_S."""
    return torch.where(now, time_s + dt_s, torch.zeros_like(time_s))


def fallen(base_pos: Tensor) -> Tensor:
    """[N, 3] -> [N] bool: the base is below any ground of any course."""
    return base_pos[:, 2] < FALLEN_Z
