"""A link over DDS: low-level messages as Unitree's robots have them, and depth images beside them.

The robot's stamp is not ours, so a state counts from when it came. Depth images carry their age
when they are sent; wires between two processors of one robot add little to it.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from cyclonedds.domain import DomainParticipant
from cyclonedds.internal import InvalidSample
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from swap.deploy.dds_messages import DepthMessage, OperatorMessage
from swap.deploy.depth import Lens
from swap.deploy.joints import MotorChannel
from swap.deploy.messages import REQUESTS, DepthImage, MotorCommand, Operator, RobotState
from swap.deploy.unitree import (
    COMMAND_TOPIC,
    MOTORS,
    SERVO,
    STATE_TOPIC,
    LowCmd,
    LowState,
    MotorState,
    command_crc,
)
from swap.errors import UserError

DEPTH_TOPIC, OPERATOR_TOPIC = "rt/swap_depth", "rt/swap_operator"
NEWEST = Qos(Policy.History.KeepLast(1), Policy.Reliability.BestEffort)
FAR_M = 65.0
"""Depth travels as millimetres in 16 bits, as depth cameras give it."""


class Dds:
    """See `swap.deploy.transport.Transport`; both ends are alike."""

    def __init__(self, motors: Sequence[MotorChannel], lens: Lens, domain: int = 0) -> None:
        if len(motors) > MOTORS:
            raise UserError(f"{len(motors)} motors; these messages have room for {MOTORS}")
        self.motors, self.lens = tuple(motors), lens
        self.bad_crc = 0
        """Commands that were refused because their CRC was wrong."""
        self._participant = DomainParticipant(domain)
        self._topics: dict[str, tuple[Any, Any]] = {
            STATE_TOPIC: (LowState, None),
            COMMAND_TOPIC: (LowCmd, None),
            DEPTH_TOPIC: (DepthMessage, None),
            OPERATOR_TOPIC: (OperatorMessage, None),
        }
        self._writers: dict[str, Any] = {}
        self._readers: dict[str, Any] = {}

    def _topic(self, name: str) -> Any:
        kind, made = self._topics[name]
        if made is None:
            made = Topic(self._participant, name, kind, qos=NEWEST)
            self._topics[name] = kind, made
        return made

    def _write(self, name: str, message: Any) -> None:
        if name not in self._writers:
            self._writers[name] = DataWriter(self._participant, self._topic(name), qos=NEWEST)
        self._writers[name].write(message)

    def _newest(self, name: str) -> Any:
        if name not in self._readers:
            self._readers[name] = DataReader(self._participant, self._topic(name), qos=NEWEST)
        found = [x for x in self._readers[name].take(4) if not isinstance(x, InvalidSample)]
        return found[-1] if found else None

    def listen(self) -> None:
        """Readers for all that may come: who first reads later misses what was sent before."""
        for name in self._topics:
            self._newest(name)

    # --- the robot's end ------------------------------------------------------------------------
    def put_state(self, message: RobotState, now_s: float) -> None:
        state: Any = LowState(tick=int(now_s * 1000) & 0xFFFFFFFF)
        state.imu_state.quaternion = [float(x) for x in message.quat]
        state.imu_state.gyroscope = [float(x) for x in message.gyro]
        rows = zip(message.pos, message.vel, message.torque, strict=True)
        for k, (q, dq, tau) in enumerate(rows):
            state.motor_state[k] = MotorState(SERVO, float(q), float(dq), 0.0, float(tau))
        self._write(STATE_TOPIC, state)

    def put_depth(self, message: DepthImage, now_s: float) -> None:
        metres = np.nan_to_num(message.metres, nan=0.0, posinf=0.0, neginf=0.0)
        whole = np.rint(np.clip(metres, 0, FAR_M) * 1000).astype(np.uint16)
        age = now_s - message.time_s
        rows, cols = whole.shape
        image: Any = DepthMessage(rows, cols, age, whole.ravel().tolist())
        self._write(DEPTH_TOPIC, image)

    def put_operator(self, message: Operator, now_s: float) -> None:
        held = message.heading_rad is not None
        numbers = (message.forward_mps, message.left_mps, message.yaw_rps)
        request = REQUESTS.index(message.request)
        self._write(
            OPERATOR_TOPIC,
            OperatorMessage(request, *numbers, int(held), message.heading_rad or 0.0),
        )

    def get_command(self) -> MotorCommand | None:
        found = self._newest(COMMAND_TOPIC)
        if found is None:
            return None
        if command_crc(found) != found.crc:
            self.bad_crc += 1
            return None
        rows = found.motor_cmd[: len(self.motors)]
        names = ("q", "kp", "kd", "tau")
        pos, kp, kd, tau = (np.array([getattr(x, k) for x in rows], np.float32) for k in names)
        return MotorCommand(time.monotonic(), pos, kp, kd, tau)

    # --- the controller's end -------------------------------------------------------------------
    def put_command(self, message: MotorCommand, now_s: float) -> None:
        command: Any = LowCmd()
        rows = zip(message.pos, message.kp, message.kd, message.torque, strict=True)
        for motor, (q, kp, kd, tau) in zip(command.motor_cmd, rows, strict=False):
            motor.mode = SERVO
            motor.q, motor.kp, motor.kd, motor.tau = map(_float32, (q, kp, kd, tau))
        command.crc = command_crc(command)
        self._write(COMMAND_TOPIC, command)

    def get_state(self) -> RobotState | None:
        found = self._newest(STATE_TOPIC)
        if found is None:
            return None
        rows = found.motor_state[: len(self.motors)]
        pos, vel, tau = (
            np.array([getattr(x, k) for x in rows], np.float32) for k in ("q", "dq", "tau_est")
        )
        imu = found.imu_state
        quat, gyro = (np.array(x, np.float32) for x in (imu.quaternion, imu.gyroscope))
        return RobotState(time.monotonic(), quat, gyro, pos, vel, tau)

    def get_depth(self) -> DepthImage | None:
        found = self._newest(DEPTH_TOPIC)
        if found is None or (found.rows, found.cols) != (self.lens.rows, self.lens.cols):
            return None
        whole = np.array(found.millimetres, np.float32).reshape(found.rows, found.cols)
        return DepthImage(time.monotonic() - found.age_s, whole / 1000)

    def get_operator(self) -> Operator | None:
        found = self._newest(OPERATOR_TOPIC)
        if found is None or not 0 <= found.request < len(REQUESTS):
            return None
        heading = found.heading_rad if found.holds_heading else None
        numbers = (found.forward_mps, found.left_mps, found.yaw_rps)
        return Operator(REQUESTS[found.request], *numbers, heading)

    def close(self) -> None:
        self._readers.clear()
        self._writers.clear()
        self._topics.clear()
        del self._participant


def _float32(x: float) -> float:
    """Rounded as the wire rounds it: the CRC is of what arrives."""
    return float(np.float32(x))
