"""States what `swap.json` of a bundle says: what a controller needs of a robot's training.

Read with `parse`, which refuses an unknown key, a missing one and a value of another kind; written
with `as_json`. Angles are radians in the joint's own sense, as the robot's file states it.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from swap.errors import UserError, printable
from swap.validate import check_numbers

T = TypeVar("T")
FORMAT = 1
"""Of swap.json; another one is refused."""
MEASURED = {"ang_vel": 3, "gravity": 3, "command": 3, "joint_pos": 0, "joint_vel": 0, "action": 0}
"""What a robot knows of itself, and how wide it is; 0: a number a joint."""


@dataclass(frozen=True)
class JointSpec:
    """One joint and its motor. Joints are known by name, never by their place in a list."""

    name: str
    axis: tuple[float, float, float]
    """In the base frame, of a positive turn."""
    default_rad: float
    low_rad: float
    high_rad: float
    """The mechanical range."""
    kp: float
    kd: float
    torque_nm: float
    """Peak."""
    speed_rps: float
    """No-load speed: driving torque falls linearly to zero there."""

    def __post_init__(self) -> None:
        check_numbers(self, f"joint {self.name}: ", positive=("kp", "kd", "torque_nm", "speed_rps"))
        if not self.low_rad < self.default_rad < self.high_rad:
            raise UserError(f"joint {self.name}: default_rad is outside its range")


@dataclass(frozen=True)
class ActionSpec:
    """Joint target = default + scale_rad * action; actions stay within -clip..clip."""

    scale_rad: float
    clip: float

    def __post_init__(self) -> None:
        check_numbers(self, "action.", positive=("scale_rad", "clip"))


@dataclass(frozen=True)
class TermSpec:
    """A measured quantity, and what it is multiplied by."""

    name: str
    scale: float


@dataclass(frozen=True)
class ObservationSpec:
    """What networks read: groups of terms, in this order."""

    terms: tuple[TermSpec, ...]
    proprioception: tuple[str, ...]
    history: tuple[str, ...]
    history_steps: int
    """Newest first."""

    def __post_init__(self) -> None:
        check_numbers(self, "observation.", at_least_1=("history_steps",))
        known = {term.name for term in self.terms}
        for name in (*known, *self.proprioception, *self.history):
            if name not in MEASURED or name not in known:
                raise UserError(f"observation '{name}' is none that a robot measures")


@dataclass(frozen=True)
class DepthCameraSpec:
    """The depth camera of training and the whole preparation of an image.

    A pixel is the z-depth in metres. Row 0 is the top, column 0 the robot's left. One without a
    return reads far_m; what is nearer than near_m reads near_m, what is farther far_m. Then
    s = (z - near) / (far - near) and x = (1 + bend) s / (s + bend) - 1/2.
    """

    rows: int
    cols: int
    fov_deg: float
    """Horizontal, edge to edge; pixels are square."""
    near_m: float
    far_m: float
    bend: float
    pos_m: tuple[float, float, float]
    """In the base frame."""
    pitch_rad: float
    """Downwards from straight ahead."""
    age_s: tuple[float, float]
    """How old images were in training when they were read."""

    def __post_init__(self) -> None:
        check_numbers(self, "camera.", at_least_1=("rows", "cols"), positive=("bend", "near_m"))
        if not self.near_m < self.far_m or not 0 < self.fov_deg < 180:
            raise UserError("camera: near_m, far_m and fov_deg leave nothing to see")
        if not 0 <= self.age_s[0] <= self.age_s[1]:
            raise UserError("camera: age_s runs backwards")

    @property
    def pixel(self) -> float:
        """Width of a pixel on the plane one metre ahead, m."""
        return 2 * math.tan(math.radians(self.fov_deg) / 2) / self.cols


@dataclass(frozen=True)
class CommandSpec:
    """The commands of training: further ones are clipped to them."""

    forward_mps: tuple[float, float]
    left_mps: tuple[float, float]
    yaw_rps: float
    yaw_gain: float
    """Yaw rate for each radian the heading is off, where a heading is held."""

    def __post_init__(self) -> None:
        check_numbers(self, "command.", not_negative=("yaw_rps", "yaw_gain"))


@dataclass(frozen=True)
class LimitSpec:
    """What no command may exceed, and when a controller gives up. Torque limits are the motors'."""

    beyond_range_rad: float
    """Targets may lie this far beyond a joint's range: against its stop it is then pushed with at
    most kp times this."""
    swing: float
    """Largest change of a target in one control step, over torque / kp; 2 is from full torque one
    way to full torque the other."""
    torque_share: float
    """A command may ask for so much more than a motor's torque-speed curve has, which then gives
    what it has. Cut to just the curve, a command falls below it as soon as the joint moves on."""
    power_w: float
    """Mechanical power of all motors together."""
    tilt_z: float
    """Gravity's z in the body frame is below this; -1 is level, 0 on its side."""
    state_s: float
    """An older state is stale."""
    depth_s: float
    """An older image is stale."""
    gap_s: float
    """Two decisions further apart than this are a missed deadline."""

    def __post_init__(self) -> None:
        above = ("swing", "torque_share", "power_w", "state_s", "depth_s", "gap_s")
        check_numbers(self, "limits.", positive=above, not_negative=("beyond_range_rad",))


@dataclass(frozen=True)
class FileSpec:
    """A file of the bundle, by its content."""

    file: str
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        if "/" in self.file or "\\" in self.file or self.file.startswith("."):
            raise UserError(f"file '{self.file}' lies outside of the bundle")


@dataclass(frozen=True)
class GraphSpec:
    """An ONNX graph with the shapes of what goes in and comes out, by name."""

    file: FileSpec
    inputs: dict[str, tuple[int, ...]]
    outputs: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class BundleSpec:
    """All of swap.json but its format and seal."""

    swap: str
    """The version that wrote it."""
    model: str
    iteration: int
    robot: str
    control_period_s: float
    ticks_every: int
    """k: control steps from one tick of the world model to the next."""
    joints: tuple[JointSpec, ...]
    action: ActionSpec
    observation: ObservationSpec
    camera: DepthCameraSpec
    command: CommandSpec
    limits: LimitSpec
    world_model: GraphSpec
    policy: GraphSpec
    vectors: FileSpec
    """Recorded inputs and the answers that torch gave: see `swap.deploy.vectors`."""
    robot_data: dict[str, Any]
    """Every fact of the robot, for a simulator; no controller reads it."""

    def __post_init__(self) -> None:
        check_numbers(self, positive=("control_period_s",), at_least_1=("ticks_every",))
        names = [joint.name for joint in self.joints]
        if len(set(names)) != len(names) or not names:
            raise UserError("joints: give each of them, by a name of its own")

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    def width(self, terms: tuple[str, ...]) -> int:
        """Of these terms side by side."""
        return sum(MEASURED[name] or len(self.joints) for name in terms)


def as_json(value: Any) -> Any:
    """A dataclass or any part of one -> what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list | tuple) else value


def parse(cls: type[T], data: Any, where: str = "swap.json") -> T:
    """The dataclass that `as_json` was given."""
    if not isinstance(data, Mapping):
        raise UserError(f"{where} is no table")
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for key in (*data, *names):
        if key not in names or key not in data:
            what = "is missing" if key in names else "is unknown"
            raise UserError(f"{where}: key '{printable(key, 80)}' {what}")
    return cls(**{name: _fit(hints[name], data[name], f"{where}: {name}") for name in names})


def _fit(hint: Any, value: Any, where: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return parse(hint, value, where)
    if origin is tuple and isinstance(value, list):
        kinds = [args[0]] * len(value) if args[-1] is Ellipsis else list(args)
        if len(kinds) == len(value):
            return tuple(_fit(k, item, where) for k, item in zip(kinds, value, strict=True))
    elif origin is dict and isinstance(value, Mapping):
        return {key: _fit(args[1], item, where) for key, item in value.items()}
    elif hint is Any:
        return value
    elif hint is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    elif hint in (int, str) and type(value) is hint:
        return value
    assert not isinstance(hint, types.UnionType)
    raise UserError(f"{where} does not fit: {printable(repr(value), 60)}")
