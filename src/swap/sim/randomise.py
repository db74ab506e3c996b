"""Draws the randomised parameters of worlds: friction, masses, motors, latency, pushes.

Everything is drawn as a factor (nominally 1) or an offset (nominally 0), so one set of ranges
serves every robot. `mirror` gives the mirrored draw: mirrored state, action and draw make mirrored
physics.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from swap.errors import UserError
from swap.robots import Robot
from swap.robots.mjcf import SOLREF_TIME
from swap.sim.rate import SUBSTEPS
from swap.symmetry import ROTATION, VECTOR, Rep, trivial
from swap.validate import check_numbers

Range = tuple[float, float]


@dataclass(frozen=True)
class Ranges:
    """Uniform ranges; a range of one value switches that randomisation off."""

    friction: Range = (0.5, 2.0)
    """Friction of the ground, unless the course needs more."""
    restitution: Range = (0.0, 0.4)
    """Rebound speed over impact speed; below 0.135 it is the nominal contact's, 0.135."""
    payload: Range = (0.0, 0.2)
    """Mass added to the trunk, as a share of the robot's mass."""
    link_mass: Range = (0.8, 1.2)
    """Factor on each leg link's mass and inertia."""
    com: Range = (-0.05, 0.05)
    """Shift of the trunk's centre of mass along each axis, m."""
    kp: Range = (0.8, 1.2)
    kd: Range = (0.8, 1.2)
    strength: Range = (0.8, 1.2)
    """Factor on each motor's commanded torque."""
    latency: tuple[int, int] = (0, 1)
    """Delay of new joint targets in physics steps, both ends included."""
    push: float = 0.5
    """Largest sudden change of the base's velocity along x and y, m/s."""
    push_turn: float = 0.5
    """Largest sudden change of the base's angular velocity about each axis, rad/s."""
    damping: Range = (1.0, 1.0)
    """Factor on the kd of all motors together, beside that of each. In physics steps of 5 ms kd
    damps a leg in the air more than in motors that compute their torque at 1 kHz: x 0.7 is these.
    """

    def __post_init__(self) -> None:
        check_numbers(self, "range ", not_negative=("push", "push_turn"))
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple) and not (len(value) == 2 and value[0] <= value[1]):
                raise UserError(f"range {field.name}={value} runs backwards; give (low, high)")
        for name in ("friction", "link_mass", "kp", "kd", "strength", "damping"):
            if getattr(self, name)[0] <= 0:
                raise UserError(f"range {name}={getattr(self, name)}; give factors above zero")
        for name in ("restitution", "payload", "latency"):
            if getattr(self, name)[0] < 0:
                raise UserError(f"range {name}={getattr(self, name)}; start at zero or above")
        if self.restitution[1] >= 1:
            raise UserError(f"range restitution={self.restitution}; a rebound stays below 1")
        if self.latency[1] > SUBSTEPS:
            raise UserError(
                f"range latency={self.latency}; targets are held for {SUBSTEPS} physics steps, "
                f"use at most {SUBSTEPS}"
            )


FIXED = Ranges((1, 1), (0, 0), (0, 0), (1, 1), (0, 0), (1, 1), (1, 1), (1, 1), (0, 0), 0.0, 0.0)
"""No randomisation at all."""


BODY_PARTS = ("payload", "link_mass", "com")
"""The parts of a Draw that change the robot's inertia; these are costly to apply."""


@dataclass(frozen=True)
class Draw:
    """One draw for N worlds, in float32 on one device."""

    friction: Tensor  # [N]
    restitution: Tensor  # [N]
    payload: Tensor  # [N] kg
    link_mass: Tensor  # [N, 12] factor, in joint order
    com: Tensor  # [N, 3] m
    kp: Tensor  # [N, 12] factor
    kd: Tensor  # [N, 12] factor
    strength: Tensor  # [N, 12] factor
    latency: Tensor  # [N] int32, physics steps


def reps(robot: Robot) -> dict[str, Rep]:
    """How each part of a Draw mirrors."""
    joint = abs(robot.body.joint_rep)
    return {
        **dict.fromkeys(("friction", "restitution", "payload", "latency"), trivial()),
        **dict.fromkeys(("link_mass", "kp", "kd", "strength"), joint),
        "com": VECTOR,
    }


def draw(ranges: Ranges, robot: Robot, n: int, generator: torch.Generator) -> Draw:
    """A fresh draw on the generator's device; the same generator state gives the same draw."""
    device = generator.device
    joints = len(robot.joints)

    def uniform(low_high: Range, *shape: int) -> Tensor:
        low, high = low_high
        return low + (high - low) * torch.rand(n, *shape, generator=generator, device=device)

    low, high = ranges.latency
    given = Draw(
        friction=uniform(ranges.friction),
        restitution=uniform(ranges.restitution),
        payload=uniform(ranges.payload) * robot.mass,
        link_mass=uniform(ranges.link_mass, joints),
        com=uniform(ranges.com, 3),
        kp=uniform(ranges.kp, joints),
        kd=uniform(ranges.kd, joints),
        strength=uniform(ranges.strength, joints),
        latency=torch.randint(
            low, high + 1, (n,), generator=generator, device=device, dtype=torch.int32
        ),
    )
    if set(ranges.damping) == {1.0}:  # drawn last, and only if asked for: other draws do not change
        return given
    return replace(given, kd=given.kd * uniform(ranges.damping, 1))


def nominal(robot: Robot, n: int, device: torch.device | str = "cpu") -> Draw:
    """The draw that leaves the robot as its file states it, in every world."""
    return draw(FIXED, robot, n, torch.Generator(device))


def draw_push(ranges: Ranges, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pushes for `Engine.push`: linear [N, 3] in the world frame, angular [N, 3] in the body's."""
    kick = 2 * torch.rand(n, 6, generator=generator, device=generator.device) - 1
    linear = kick[:, :3] * ranges.push
    linear[:, 2].zero_()
    return linear, kick[:, 3:] * ranges.push_turn


def mirror(given: Draw, robot: Robot) -> Draw:
    """The draw of the mirrored worlds."""
    parts = {}
    for name, rep in reps(robot).items():
        part = getattr(given, name)
        parts[name] = rep(part) if part.ndim == 2 else part.clone()
    return Draw(**parts)


def mirror_push(linear: Tensor, angular: Tensor) -> tuple[Tensor, Tensor]:
    return VECTOR(linear), ROTATION(angular)


# --- from a draw to MuJoCo's numbers --------------------------------------------------------------
def contact_friction(drawn: Tensor, course: Tensor) -> Tensor:
    """The drawn friction, but no less than the course needs to stand on it."""
    return torch.maximum(drawn, course)


def contact_solref(restitution: Tensor) -> Tensor:
    """MuJoCo's solref [N, 2] for a restitution [N]: a softer damper at the same stiffness.

    A contact is a spring and a damper of ratio z = sin(a) that push and never pull; a body leaves
    it with the share exp(-(pi - 2a) tan(a)) of its impact speed. At z = 1, the nominal contact,
    that is exp(-2) = 0.135, the least we use. The time constant grows as z falls, because MuJoCo's
    stiffness is 1 / (time constant * z)².
    """
    table = _ratios(restitution.device)
    x = (restitution - LEAST_REBOUND) / (1 - LEAST_REBOUND) * (len(table) - 1)
    x = x.clamp(0, len(table) - 1.001)
    k = x.long()
    ratio = torch.lerp(table[k], table[k + 1], x - k)
    return torch.stack([SOLREF_TIME / ratio, ratio], -1)


LEAST_REBOUND = math.exp(-2)


@lru_cache(maxsize=4)
def _ratios(device: torch.device) -> Tensor:
    """Damping ratios for rebounds spaced evenly from LEAST_REBOUND to 1."""
    angle = np.linspace(np.pi / 2 - 1e-6, 0.0, 4001)
    rebound = np.exp(-(np.pi - 2 * angle) * np.tan(angle))
    ratio = np.interp(np.linspace(LEAST_REBOUND, 1, 513), rebound, np.sin(angle))
    ratio[0] = 1.0
    return torch.tensor(ratio, dtype=torch.float32, device=device)
