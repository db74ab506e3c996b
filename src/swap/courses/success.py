"""Decides which robots have crossed their course, for any robot and any time step.

A robot succeeds if `reached` is true for HOLD_S without a break; `held` counts the time. Every test
gives the same result for the mirrored robot on the mirrored course, bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from swap.courses.course import Course

PAST_M = 0.8
"""How far the base must be past the obstacle's far edge."""
UPRIGHT = -0.7
"""The z of gravity in the body frame must be below this; -1 is level."""
HOLD_S = 0.5
FALLEN_Z = -0.8
"""Base height of a fall: all ground in a lane is above it, even for a crouching robot; pits are
below."""
SUNK_M = 0.05
"""A foot may be this far below the surface it stands on: contacts are soft, and feet are round."""
LIFTED_M = 0.5
"""A foot up to this high above the ground counts as in swing (new policies lift it up to .43 m)."""


@dataclass(frozen=True)
class Goals:
    """What each robot must reach; one entry per world, all [N]."""

    x: Tensor
    """The obstacle's far edge."""
    z: Tensor
    """Height of the ground behind the obstacle, on the midline."""
    tilt: Tensor
    """Slope of that ground in y."""
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
    """Whether each robot is past the obstacle, upright, in its lane, with all feet on the ground
    behind the obstacle: [N] bool.

    `base_pos` [N, 3] and `foot_pos` [N, F, 3] are in the world frame, in metres; `gravity_z` [N] is
    in the body frame.
    """
    past = base_pos[:, 0] > goals.x + PAST_M
    in_lane = base_pos[:, 1].abs() < goals.lane
    upright = gravity_z < UPRIGHT
    support = goals.z[:, None] + foot_pos[:, :, 1] * goals.tilt[:, None]  # [N, F]
    above = foot_pos[:, :, 2] - support
    on_it = (above > -SUNK_M) & (above < LIFTED_M) & (foot_pos[:, :, 0] > goals.x[:, None])
    return past & in_lane & upright & on_it.all(1)


def held(time_s: Tensor, now: Tensor, dt_s: float) -> Tensor:
    """How long `reached` has been true for each robot without a break [N]; success is >= HOLD_S."""
    return torch.where(now, time_s + dt_s, torch.zeros_like(time_s))


def fallen(base_pos: Tensor) -> Tensor:
    """Whether the base [N, 3] is below all ground of all courses: [N] bool."""
    return base_pos[:, 2] < FALLEN_Z
