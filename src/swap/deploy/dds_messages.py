"""Our own messages on DDS: depth images, and what the operator requests."""

# mypy: ignore-errors
# (types of fields are cyclonedds', which reads them as it runs)

from dataclasses import dataclass, field

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float32, int32, sequence, uint16


@dataclass
class DepthMessage(IdlStruct, typename="swap.msg.dds_.Depth_"):
    rows: int32 = 0
    cols: int32 = 0
    age_s: float32 = 0.0
    millimetres: sequence[uint16] = field(default_factory=list)


@dataclass
class OperatorMessage(IdlStruct, typename="swap.msg.dds_.Operator_"):
    request: int32 = 0
    forward_mps: float32 = 0.0
    left_mps: float32 = 0.0
    yaw_rps: float32 = 0.0
    holds_heading: int32 = 0
    heading_rad: float32 = 0.0
