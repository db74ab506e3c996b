"""What a controller and a robot tell each other: states, depth images, commands, requests.

Motors come in the robot's own order and sense; `joints.JointMap` turns them into the bundle's.
Times are seconds on the controller's clock. As bytes they are fixed records, alike in shared
memory and in logs.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from swap.errors import UserError

Request = Literal["", "passive", "stand", "run", "damp", "stop"]
REQUESTS: tuple[Request, ...] = ("", "passive", "stand", "run", "damp", "stop")
"""What an operator can ask for; the empty one asks for nothing new."""


@dataclass(frozen=True)
class RobotState:
    """What a robot feels at one moment."""

    time_s: float
    quat: np.ndarray  # [4] (w, x, y, z), body to world
    gyro: np.ndarray  # [3] rad/s, body frame
    pos: np.ndarray  # [motors] rad
    vel: np.ndarray  # [motors] rad/s
    torque: np.ndarray  # [motors] Nm


@dataclass(frozen=True)
class DepthImage:
    """An image of the depth camera, z-depth in metres; 0, negative or not finite: no return."""

    time_s: float
    """When it was taken, not when it came."""
    metres: np.ndarray  # [rows, cols]


@dataclass(frozen=True)
class MotorCommand:
    """torque = kp (pos - q) - kd q̇ + torque, for each motor."""

    time_s: float
    pos: np.ndarray  # [motors] rad
    kp: np.ndarray  # [motors]
    kd: np.ndarray  # [motors]
    torque: np.ndarray  # [motors] Nm, added


@dataclass(frozen=True)
class Operator:
    """What the robot is to do."""

    request: Request = ""
    forward_mps: float = 0.0
    left_mps: float = 0.0
    yaw_rps: float = 0.0
    heading_rad: float | None = None
    """Hold this heading; the yaw rate then follows from it."""


class Codec:
    """Messages of a robot of so many motors, and images of one size, as bytes."""

    def __init__(self, motors: int, image: tuple[int, int]) -> None:
        f, n = "<f4", motors
        self.motors, self.image = motors, image
        self.state = np.dtype(
            [("time", "<f8"), ("quat", f, 4), ("gyro", f, 3)]
            + [(name, f, n) for name in ("pos", "vel", "torque")]
        )
        self.depth = np.dtype([("time", "<f8"), ("metres", f, image)])
        self.command = np.dtype(
            [("time", "<f8"), *((name, f, n) for name in ("pos", "kp", "kd", "torque"))]
        )
        self.operator = np.dtype([("request", "<i4"), ("held", "<i4"), ("numbers", "<f8", 4)])

    def pack_state(self, x: RobotState) -> bytes:
        row = (x.time_s, x.quat, x.gyro, x.pos, x.vel, x.torque)
        return np.array(row, self.state).tobytes()

    def unpack_state(self, data: bytes) -> RobotState:
        row = self._row(data, self.state, "state")
        return RobotState(float(row["time"]), *(row[k] for k in self.state.names[1:]))  # type: ignore[index]

    def pack_depth(self, x: DepthImage) -> bytes:
        return np.array((x.time_s, x.metres), self.depth).tobytes()

    def unpack_depth(self, data: bytes) -> DepthImage:
        row = self._row(data, self.depth, "depth image")
        return DepthImage(float(row["time"]), row["metres"])

    def pack_command(self, x: MotorCommand) -> bytes:
        return np.array((x.time_s, x.pos, x.kp, x.kd, x.torque), self.command).tobytes()

    def unpack_command(self, data: bytes) -> MotorCommand:
        row = self._row(data, self.command, "command")
        return MotorCommand(float(row["time"]), *(row[k] for k in self.command.names[1:]))  # type: ignore[index]

    def pack_operator(self, x: Operator) -> bytes:
        held = x.heading_rad is not None
        numbers = (x.forward_mps, x.left_mps, x.yaw_rps, x.heading_rad or 0.0)
        return np.array((REQUESTS.index(x.request), held, numbers), self.operator).tobytes()

    def unpack_operator(self, data: bytes) -> Operator:
        row = self._row(data, self.operator, "operator's request")
        if not 0 <= (request := int(row["request"])) < len(REQUESTS):
            raise UserError(f"request {request} is none; known are 0 to {len(REQUESTS) - 1}")
        forward, left, yaw, heading = map(float, row["numbers"])
        return Operator(REQUESTS[request], forward, left, yaw, heading if row["held"] else None)

    def _row(self, data: bytes, kind: np.dtype, what: str) -> np.void:
        if len(data) != kind.itemsize:
            raise UserError(f"a {what} has {len(data)} bytes instead of {kind.itemsize}")
        row: np.void = np.frombuffer(data, kind)[0]
        return row
