"""Messages laid out as Unitree's quadrupeds have them on DDS: low-level state and command.

Names, order and types of the fields are facts of the public IDL `unitree_go`. Twenty motors fit, of
which a Go2 or a B2 uses the first twelve. A command ends with a CRC of all before it.
"""

# mypy: ignore-errors
# (types of fields are cyclonedds', which reads them as it runs)

import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import array, float32, int16, int32, uint8, uint16, uint32

from swap.deploy.joints import MotorChannel

MOTORS = 20
STATE_TOPIC, COMMAND_TOPIC = "rt/lowstate", "rt/lowcmd"
SERVO = 1
"""The mode of a motor that follows its command."""
HEAD, LOW_LEVEL = (0xFE, 0xEF), 0xFF
ORDER = ("FR", "FL", "RR", "RL")
"""Legs as they come; abduction, hip and knee of each."""


def zeros(count: int) -> Any:
    return field(default_factory=lambda: [0] * count)


@dataclass
@final
@autoid("sequential")
class MotorCmd(IdlStruct, typename="unitree_go.msg.dds_.MotorCmd_"):
    mode: uint8 = 0
    q: float32 = 0.0
    dq: float32 = 0.0
    tau: float32 = 0.0
    kp: float32 = 0.0
    kd: float32 = 0.0
    reserve: array[uint32, 3] = zeros(3)


@dataclass
@final
@autoid("sequential")
class BmsCmd(IdlStruct, typename="unitree_go.msg.dds_.BmsCmd_"):
    off: uint8 = 0
    reserve: array[uint8, 3] = zeros(3)


@dataclass
@final
@autoid("sequential")
class LowCmd(IdlStruct, typename="unitree_go.msg.dds_.LowCmd_"):
    head: array[uint8, 2] = field(default_factory=lambda: [*HEAD])
    level_flag: uint8 = LOW_LEVEL
    frame_reserve: uint8 = 0
    sn: array[uint32, 2] = zeros(2)
    version: array[uint32, 2] = zeros(2)
    bandwidth: uint16 = 0
    motor_cmd: array[MotorCmd, MOTORS] = field(
        default_factory=lambda: [MotorCmd() for _ in range(MOTORS)]
    )
    bms_cmd: BmsCmd = field(default_factory=BmsCmd)
    wireless_remote: array[uint8, 40] = zeros(40)
    led: array[uint8, 12] = zeros(12)
    fan: array[uint8, 2] = zeros(2)
    gpio: uint8 = 0
    reserve: uint32 = 0
    crc: uint32 = 0


@dataclass
@final
@autoid("sequential")
class MotorState(IdlStruct, typename="unitree_go.msg.dds_.MotorState_"):
    mode: uint8 = 0
    q: float32 = 0.0
    dq: float32 = 0.0
    ddq: float32 = 0.0
    tau_est: float32 = 0.0
    q_raw: float32 = 0.0
    dq_raw: float32 = 0.0
    ddq_raw: float32 = 0.0
    temperature: uint8 = 0
    lost: uint32 = 0
    reserve: array[uint32, 2] = zeros(2)


@dataclass
@final
@autoid("sequential")
class IMUState(IdlStruct, typename="unitree_go.msg.dds_.IMUState_"):
    quaternion: array[float32, 4] = zeros(4)
    gyroscope: array[float32, 3] = zeros(3)
    accelerometer: array[float32, 3] = zeros(3)
    rpy: array[float32, 3] = zeros(3)
    temperature: uint8 = 0


@dataclass
@final
@autoid("sequential")
class BmsState(IdlStruct, typename="unitree_go.msg.dds_.BmsState_"):
    version_high: uint8 = 0
    version_low: uint8 = 0
    status: uint8 = 0
    soc: uint8 = 0
    current: int32 = 0
    cycle: uint16 = 0
    bq_ntc: array[uint8, 2] = zeros(2)
    mcu_ntc: array[uint8, 2] = zeros(2)
    cell_vol: array[uint16, 15] = zeros(15)


@dataclass
@final
@autoid("sequential")
class LowState(IdlStruct, typename="unitree_go.msg.dds_.LowState_"):
    head: array[uint8, 2] = field(default_factory=lambda: [*HEAD])
    level_flag: uint8 = LOW_LEVEL
    frame_reserve: uint8 = 0
    sn: array[uint32, 2] = zeros(2)
    version: array[uint32, 2] = zeros(2)
    bandwidth: uint16 = 0
    imu_state: IMUState = field(default_factory=IMUState)
    motor_state: array[MotorState, MOTORS] = field(
        default_factory=lambda: [MotorState() for _ in range(MOTORS)]
    )
    bms_state: BmsState = field(default_factory=BmsState)
    foot_force: array[int16, 4] = zeros(4)
    foot_force_est: array[int16, 4] = zeros(4)
    tick: uint32 = 0
    wireless_remote: array[uint8, 40] = zeros(40)
    bit_flag: uint8 = 0
    adc_reel: float32 = 0.0
    temperature_ntc1: uint8 = 0
    temperature_ntc2: uint8 = 0
    power_v: float32 = 0.0
    power_a: float32 = 0.0
    fan_frequency: array[uint16, 4] = zeros(4)
    reserve: uint32 = 0
    crc: uint32 = 0


def unitree_motors(legs: tuple[str, ...] = ORDER) -> tuple[MotorChannel, ...]:
    """Their order with the names that SWAP's robots have."""
    return tuple(MotorChannel(f"{leg}_{part}") for leg in legs for part in ("abad", "hip", "knee"))


COMMAND_LAYOUT = struct.Struct("<4B4IH2x" + "B3x5f3I" * MOTORS + "4B55Bx2I")
"""A command in the memory of the robot's own processor, which is what its CRC is of."""
_REVERSED = bytes(int(f"{x:08b}"[::-1], 2) for x in range(256))


def command_crc(command: LowCmd) -> int:
    """CRC-32/MPEG-2 over all words but the last, the highest byte of each first."""
    c, flat = command, []
    flat += [*c.head, c.level_flag, c.frame_reserve, *c.sn, *c.version, c.bandwidth]
    for motor in c.motor_cmd:
        flat += [motor.mode, motor.q, motor.dq, motor.tau, motor.kp, motor.kd, *motor.reserve]
    flat += [c.bms_cmd.off, *c.bms_cmd.reserve, *c.wireless_remote, *c.led, *c.fan, c.gpio]
    data = COMMAND_LAYOUT.pack(*flat, c.reserve, 0)[:-4]
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return mpeg2(struct.pack(f">{len(words)}I", *words))


def mpeg2(data: bytes) -> int:
    """zlib's CRC reads bits the other way round and negates what comes out."""
    turned = zlib.crc32(data.translate(_REVERSED)) ^ 0xFFFFFFFF
    return int(f"{turned:032b}"[::-1], 2)
