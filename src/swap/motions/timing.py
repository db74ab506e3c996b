"""Chooses the frequency, duty factor, footholds and foot lift of a robot's gait.

All scaling with the robot's size is done here (see `gaits`).
"""

from dataclasses import dataclass

import numpy as np

from swap.motions.gaits import APOLLO_HIP_M, Gait
from swap.robots import Robot, feet_in_base


@dataclass(frozen=True)
class GaitCommand:
    """The velocities of a clip, constant over its length."""

    forward_mps: float = 0.0
    left_mps: float = 0.0
    turn_rps: float = 0.0

    def __mul__(self, factor: float) -> "GaitCommand":
        return GaitCommand(
            self.forward_mps * factor, self.left_mps * factor, self.turn_rps * factor
        )

    def mirrored(self) -> "GaitCommand":
        return GaitCommand(self.forward_mps, -self.left_mps or 0.0, -self.turn_rps or 0.0)

    def __str__(self) -> str:
        parts = [f"{self.forward_mps:.2f} m/s"]
        if self.left_mps:
            parts.append(f"{abs(self.left_mps):.2f} m/s {'left' if self.left_mps > 0 else 'right'}")
        if self.turn_rps:
            parts.append(f"{self.turn_rps:+.2f} rad/s")
        return ", ".join(parts)


@dataclass(frozen=True)
class GaitTiming:
    """Timing and footholds of one clip."""

    frequency_hz: float
    duty: float
    lift_m: float
    touchdown: np.ndarray  # [4] in the robot's order of legs
    foothold: np.ndarray  # [4, 3] foot centres at mid-stance, seen from the ground below the base


def scale_of(robot: Robot) -> float:
    """The robot's size relative to Apollo's."""
    return robot.hip_height / APOLLO_HIP_M


def scaled(robot: Robot, command: GaitCommand) -> GaitCommand:
    """Scale a command for Apollo to the dynamically similar one for this robot."""
    k = scale_of(robot) ** 0.5
    return GaitCommand(command.forward_mps * k, command.left_mps * k, command.turn_rps / k)


def timing_of(robot: Robot, gait: Gait, command: GaitCommand) -> GaitTiming:
    size = scale_of(robot)
    foothold = feet_in_base(robot)
    foothold[:, 2] = [leg.foot_radius for leg in robot.legs]
    speed = foot_speed(foothold, command) / size**0.5  # Apollo's
    low, high = gait.duty_range
    return GaitTiming(
        frequency_hz=_on(gait.frequency_hz, speed) / size**0.5,
        duty=min(max(_on(gait.duty, speed), low), high),
        lift_m=_on(gait.lift_m, min(speed, 3.0)) * size,
        touchdown=np.array(gait.touchdown)[corners(robot)],
        foothold=foothold,
    )


def foot_speed(foothold: np.ndarray, command: GaitCommand) -> float:
    """Mean speed of the ground under the feet, m/s."""
    x, y = foothold[:, 0], foothold[:, 1]
    along = command.forward_mps - command.turn_rps * y
    across = command.left_mps + command.turn_rps * x
    return float(np.hypot(along, across).mean())


def corners(robot: Robot) -> list[int]:
    """For each leg: 0 front left, 1 front right, 2 hind left, 3 hind right, whatever its name."""
    middle = sum(leg.mount[0] for leg in robot.legs) / len(robot.legs)
    return [2 * (leg.mount[0] < middle) + (leg.mount[1] < 0) for leg in robot.legs]


def _on(line: tuple[float, float], v: float) -> float:
    return line[0] + line[1] * v
