"""Defines the pieces of courses; each says what ground it adds."""

from dataclasses import dataclass
from math import radians, tan
from typing import ClassVar, NamedTuple

from swap.courses import box, gap
from swap.errors import UserError
from swap.validate import check_numbers

LENGTH_M = (0.2, 20.0)
STEP_M = 0.3
STEPS = 12
RAMP_DEG = 35.0


class Span(NamedTuple):
    """Level ground between two x, or a ramp between two heights."""

    start: float
    end: float
    z0: float
    z1: float

    @property
    def level(self) -> bool:
        return self.z0 == self.z1


@dataclass(frozen=True)
class Piece:
    """One part of a course; it begins where the piece before it ended."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        check_numbers(self, f"{self.kind}: ", signed=("steps",))

    def spans(self, x: float, z: float) -> list[Span]:
        """The ground that it adds from (x, z) on; where there is no ground there is a pit."""
        raise NotImplementedError

    def end(self, x: float, z: float) -> tuple[float, float]:
        """x and height where the next piece begins."""
        last = self.spans(x, z)[-1]
        return last.end, last.z1

    @property
    def label(self) -> str:
        """A short text: `box 0.50 m`."""
        raise NotImplementedError

    def _within(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not low <= value <= high:
            raise UserError(f"{self.kind}: {name}={value:g}; use {low:g} to {high:g}")


@dataclass(frozen=True)
class Ground(Piece):
    """Level ground."""

    kind = "ground"
    length_m: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("length_m", *LENGTH_M)

    def spans(self, x: float, z: float) -> list[Span]:
        return [Span(x, x + self.length_m, z, z)]

    @property
    def label(self) -> str:
        return f"ground {self.length_m:.2f} m"


@dataclass(frozen=True)
class Box(Piece):
    """A platform to climb, and a drop behind it."""

    kind = "box"
    height_m: float = 0.5
    length_m: float = 1.5
    """Length of its top."""
    drop_m: float | None = None
    """Drop behind it. None: as deep as the box is high; 0: the course continues at its height."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("height_m", 0.02, box.LIMIT_M)
        self._within("length_m", *LENGTH_M)
        if self.drop_m is not None:
            self._within("drop_m", 0.0, box.LIMIT_M)

    def spans(self, x: float, z: float) -> list[Span]:
        top = z + self.height_m
        return [Span(x, x + self.length_m, top, top)]

    def end(self, x: float, z: float) -> tuple[float, float]:
        drop = self.height_m if self.drop_m is None else self.drop_m
        return x + self.length_m, z + (self.height_m - drop)

    @property
    def label(self) -> str:
        return f"box {self.height_m:.2f} m"


@dataclass(frozen=True)
class Gap(Piece):
    """A gap to leap; its banks may be of unequal height."""

    kind = "gap"
    width_m: float = 1.0
    rise_m: float = 0.0
    """Height of the far bank above the near one; negative if it is lower."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("width_m", 0.05, gap.LIMIT_M)
        self._within("rise_m", -box.LIMIT_M, box.LIMIT_M)

    def spans(self, x: float, z: float) -> list[Span]:
        return []

    def end(self, x: float, z: float) -> tuple[float, float]:
        return x + self.width_m, z + self.rise_m

    @property
    def label(self) -> str:
        return f"gap {self.width_m:.2f} m"


@dataclass(frozen=True)
class Stairs(Piece):
    """A flight of stairs up, or down if the step is negative."""

    kind = "stairs"
    step_m: float = 0.15
    steps: int = 4
    tread_m: float = 0.32

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("step_m", -STEP_M, STEP_M)
        self._within("steps", 1, STEPS)
        self._within("tread_m", 0.2, 1.0)

    def spans(self, x: float, z: float) -> list[Span]:
        tops = [z + (k + 1) * self.step_m for k in range(self.steps)]
        starts = [x + k * self.tread_m for k in range(self.steps)]
        return [Span(at, at + self.tread_m, z, z) for at, z in zip(starts, tops, strict=True)]

    @property
    def label(self) -> str:
        return f"stairs {self.steps} x {self.step_m:.2f} m"


@dataclass(frozen=True)
class Ramp(Piece):
    """A slope up, or down if the angle is negative."""

    kind = "ramp"
    length_m: float = 2.0
    angle_deg: float = 15.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("length_m", *LENGTH_M)
        self._within("angle_deg", -RAMP_DEG, RAMP_DEG)

    def spans(self, x: float, z: float) -> list[Span]:
        return [Span(x, x + self.length_m, z, z + self.length_m * tan(radians(self.angle_deg)))]

    @property
    def label(self) -> str:
        return f"ramp {self.angle_deg:.0f} deg"


KINDS: dict[str, type[Piece]] = {x.kind: x for x in (Ground, Box, Gap, Stairs, Ramp)}
