"""A family's name and a difficulty in, a course out; and what families there are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from swap.courses import box, flat, gap, rocks, slope, stairs, stones, tilted
from swap.courses.blocks import Sketch, Span
from swap.courses.course import Course
from swap.errors import UserError, unknown


@dataclass(frozen=True)
class Family:
    """One kind of obstacle."""

    name: str
    size: Span
    """What difficulty 0 and 1 mean, in the obstacle's own unit."""
    about: str
    origin: str
    """Where it comes from: paper, WMP, ours."""
    build: Callable[[float, np.random.Generator], Sketch]


FAMILIES: dict[str, Family] = {}


def register(family: Family) -> None:
    if family.name in FAMILIES:
        raise UserError(f"course family '{family.name}' exists already; choose another name")
    FAMILIES[family.name] = family


for _family in (
    Family("flat", flat.NOTHING_M, "level ground", "WMP", flat.flat),
    Family("box", box.HEIGHT_M, "a box to climb; stay on top", "paper", box.box),
    Family("gap", gap.WIDTH_M, "a gap to leap, a pit on all sides", "paper", gap.gap),
    Family("stairs", stairs.STEP_M, "a flight up and a flight down", "paper", stairs.stairs),
    Family(
        "lateral_slope",
        slope.ANGLE_DEG,
        "a plane that falls to the right, to walk along",
        "paper",
        slope.lateral_slope,
    ),
    Family("rocks", rocks.HEIGHT_M, "a field of leaning rocks", "paper", rocks.rocks),
    Family(
        "tilted_box",
        tilted.HEIGHT_M,
        "a box whose top is high on the left, by 5-20 deg",
        "paper",
        tilted.tilted_box,
    ),
    Family(
        "tilted_stairs",
        tilted.STEP_M,
        "stairs with treads high on the left, by 5-20 deg",
        "paper",
        tilted.tilted_stairs,
    ),
    Family(
        "tilted_gap",
        tilted.WIDTH_M,
        "a gap between banks high on the left, by 5-20 deg",
        "paper",
        tilted.tilted_gap,
    ),
    Family(
        "stepping_stones",
        stones.CLEAR_M,
        "two rows of stones over a pit, that far apart",
        "ours",
        stones.stones,
    ),
):
    register(_family)


def find(name: str) -> Family:
    if name not in FAMILIES:
        raise unknown("course family", name, FAMILIES)
    return FAMILIES[name]


def make(family: str, difficulty: float, rng: np.random.Generator) -> Course:
    """One course. The rng varies run-up, landing, rocks and the like, never the size."""
    found = find(family)
    size = size_of(family, difficulty)
    sketch = found.build(difficulty, rng)
    return Course(
        family=family,
        difficulty=float(difficulty),
        pos=np.stack([block.pos for block in sketch.blocks]),
        quat=np.stack([block.quat for block in sketch.blocks]),
        half=np.stack([block.half for block in sketch.blocks]),
        friction=sketch.friction,
        start_z=sketch.start_z,
        goal_x=sketch.goal_x,
        goal_z=sketch.goal_z,
        goal_tilt=sketch.goal_tilt,
        lane=sketch.lane,
        size=size,
    )


def size_of(family: str, difficulty: float) -> float:
    """Difficulty in [0, 1] -> the obstacle's size in its own unit."""
    span = find(family).size
    if not 0.0 <= difficulty <= 1.0:  # also refuses NaN
        raise UserError(
            f"difficulty {difficulty:g} of '{family}' is outside [0, 1]; "
            f"0 is {span.low:g} {span.unit}, 1 is {span.high:g} {span.unit}"
        )
    return span.at(difficulty)


def difficulty_of(family: str, size: float) -> float:
    """The inverse of `size_of`: people speak in metres and degrees."""
    span = find(family).size
    if not span.low <= size <= span.high:
        raise UserError(
            f"'{family}' comes in {span.low:g} to {span.high:g} {span.unit}, not {size:g}; "
            f"choose a size in that range"
        )
    if span.low == span.high:
        return 0.0
    return min(1.0, max(0.0, (size - span.low) / (span.high - span.low)))
