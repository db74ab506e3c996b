"""Matches a robot's motors with a bundle's joints: by name and sense, never by their place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from swap.deploy.messages import MotorCommand, RobotState
from swap.deploy.spec import BundleSpec
from swap.errors import UserError


@dataclass(frozen=True)
class MotorChannel:
    """One motor as its robot's messages list it: joint angle = sign * (motor angle - zero_rad)."""

    joint: str
    sign: int = 1
    """-1 where it turns the other way round than the bundle's joint."""
    zero_rad: float = 0.0
    """What the motor reads where the joint's angle is 0."""

    def __post_init__(self) -> None:
        if self.sign not in (1, -1) or not np.isfinite(self.zero_rad):
            raise UserError(f"motor of '{self.joint}': sign is 1 or -1, zero_rad a finite number")


def plain_motors(spec: BundleSpec) -> tuple[MotorChannel, ...]:
    """A robot that lists its motors just as the bundle does."""
    return tuple(MotorChannel(name) for name in spec.joint_names)


class JointMap:
    """Between the messages of a robot and the joints of a bundle."""

    def __init__(self, spec: BundleSpec, motors: Sequence[MotorChannel]) -> None:
        names = [motor.joint for motor in motors]
        if len(set(names)) != len(names):
            raise UserError("two motors have one joint; give each a name of its own")
        if missing := [name for name in spec.joint_names if name not in names]:
            raise UserError(f"no motor has the joint {', '.join(missing[:4])} of the bundle")
        if extra := [name for name in names if name not in spec.joint_names]:
            raise UserError(f"the bundle has no joint {', '.join(extra[:4])}, which a motor has")
        self.n = len(names)
        self._motor_of = np.array([names.index(name) for name in spec.joint_names])
        self._joint_of = np.array([spec.joint_names.index(name) for name in names])
        self._sign = np.array([motor.sign for motor in motors], float)
        self._zero = np.array([motor.zero_rad for motor in motors])

    def joints(self, state: RobotState) -> tuple[np.ndarray, np.ndarray]:
        """Angles and speeds of the bundle's joints, in its order and sense, float64."""
        pos = self._sign * (np.asarray(state.pos, float) - self._zero)
        vel = self._sign * np.asarray(state.vel, float)
        return pos[self._motor_of], vel[self._motor_of]

    def command(
        self,
        time_s: float,
        pos: np.ndarray,
        kp: np.ndarray,
        kd: np.ndarray,
        torque: np.ndarray,
    ) -> MotorCommand:
        """Of joints -> of motors."""
        at, sign = self._joint_of, self._sign
        return MotorCommand(time_s, sign * pos[at] + self._zero, kp[at], kd[at], sign * torque[at])
