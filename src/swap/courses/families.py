"""Builds a course from the name of a family and a difficulty, and lists the families.

To add a family, define a `CourseFamily` in a file or package of yours and name it by an import
string: see docs/extend.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from swap.courses import (
    box,
    flat,
    gap,
    gap_to_slope,
    platform,
    rocks,
    slope,
    stairs,
    stones,
    tilted,
)
from swap.courses.blocks import Interval, Obstacle, SizeRange
from swap.courses.course import SLOTS, Course
from swap.errors import UserError
from swap.registry import Registry, guarded, instance_of


@dataclass(frozen=True)
class CourseFamily:
    """One kind of obstacle."""

    name: str
    """Its name in options and metrics; the random seed of its courses depends on it too."""
    size: SizeRange
    """The sizes at difficulty 0 and 1, in the obstacle's own unit."""
    about: str
    origin: str
    """Its source: paper, WMP, ours."""
    build: Callable[..., Obstacle]
    """Builds the obstacle from a difficulty and a generator; if it `tilts`, also from an angle in
    degrees."""
    limit: float | None = None
    """The largest size that can be built beyond the range; None if only the range can be built."""
    tilts: bool = False
    """Whether its tilt can be set independently of its size."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise UserError(f"course family '{self.name}'; use a name of letters, digits and _")
        if self.limit is not None and not self.size.low < self.size.high <= self.limit:
            raise UserError(
                f"course family '{self.name}' has limit={self.limit:g} with sizes "
                f"{self.size.low:g} to {self.size.high:g}; give a range, and a limit not below it"
            )

    @property
    def max_size(self) -> float:
        """The largest size that can be built."""
        return self.size.high if self.limit is None else self.limit

    @property
    def max_difficulty(self) -> float:
        """The difficulty of the largest size; 1 if only the range can be built."""
        return 1.0 if self.limit is None else self.size.fraction(self.limit)


def accept(found: object, name: str, where: str) -> CourseFamily:
    """Check a family that a user or a package added: build it at both ends of its range."""
    family = instance_of(CourseFamily, "swap.courses.CourseFamily")(found, name, where)
    family = replace(family, build=guarded(family.build, where))
    for difficulty in (0.0, family.max_difficulty):
        course = guarded(build_course, where)(family, difficulty, np.random.default_rng(0))
        every = np.concatenate([course.pos, course.quat, course.half], 1)
        if not np.isfinite(every).all() or not (course.half > 0).all() or course.n > SLOTS:
            raise UserError(
                f"{where}: at difficulty {difficulty:.4g} it has {course.n} boxes; give at most "
                f"{SLOTS}, of finite numbers and sizes above 0"
            )
    return family


FAMILIES = Registry(
    "course family",
    "swap.courses",
    accept,
    how="swap train --env.families {} 0.5 ..., swap eval ... --family {}",
    label=lambda family: family.name,
)


def register(family: CourseFamily) -> None:
    """Add a family from Python; commands take an import string or the name of an entry point."""
    FAMILIES.add(family.name, family)


for _family in (
    CourseFamily("flat", flat.NOTHING_M, "level ground", "WMP", flat.flat),
    CourseFamily("box", box.HEIGHT_M, "a box to climb; stay on top", "paper", box.box, box.LIMIT_M),
    CourseFamily(
        "gap",
        gap.WIDTH_M,
        "a gap to leap, a pit on all sides",
        "paper",
        gap.gap,
        gap.LIMIT_M,
    ),
    CourseFamily("stairs", stairs.STEP_M, "a flight up and a flight down", "paper", stairs.stairs),
    CourseFamily(
        "lateral_slope",
        slope.ANGLE_DEG,
        "a plane that falls to the right, to walk along",
        "paper",
        slope.lateral_slope,
    ),
    CourseFamily("rocks", rocks.HEIGHT_M, "a field of leaning rocks", "paper", rocks.rocks),
    CourseFamily(
        "tilted_box",
        tilted.HEIGHT_M,
        "a box whose top is high on the left, by 5-20 deg",
        "paper",
        tilted.tilted_box,
        tilts=True,
    ),
    CourseFamily(
        "tilted_stairs",
        tilted.STEP_M,
        "stairs with treads high on the left, by 5-20 deg",
        "paper",
        tilted.tilted_stairs,
        tilts=True,
    ),
    CourseFamily(
        "tilted_gap",
        tilted.WIDTH_M,
        "a gap between banks high on the left, by 5-20 deg",
        "paper",
        tilted.tilted_gap,
        tilts=True,
    ),
    CourseFamily(
        "stepping_stones",
        stones.CLEAR_M,
        "two rows of stones over a pit, that far apart",
        "ours",
        stones.stones,
    ),
    CourseFamily(
        "platform",
        platform.HEIGHT_M,
        "a box to climb, cross and jump down from",
        "paper",
        platform.platform,
    ),
    CourseFamily(
        "gap_to_slope",
        gap_to_slope.WIDTH_M,
        "a gap whose landing slopes up or down, by 5-15 deg",
        "paper",
        gap_to_slope.gap_to_slope,
    ),
):
    register(_family)


def get_family(name: str) -> CourseFamily:
    return FAMILIES[name]


def make(
    family: str, difficulty: float, rng: np.random.Generator, tilt_deg: Interval | None = None
) -> Course:
    """Make one course. The rng varies run-up, landing, rocks and similar details, never the size. A
    family that tilts takes a random angle in `tilt_deg`, or without it one that grows with size."""
    return build_course(get_family(family), difficulty, rng, tilt_deg)


def build_course(
    family: CourseFamily,
    difficulty: float,
    rng: np.random.Generator,
    tilt_deg: Interval | None = None,
) -> Course:
    size = _size(family, difficulty)
    angle = (rng.uniform(*tilt_deg),) if family.tilts and tilt_deg is not None else ()
    sketch = family.build(difficulty, rng, *angle)
    if not isinstance(sketch, Obstacle):
        raise UserError(
            f"course family '{family.name}' builds a {type(sketch).__name__}; return an Obstacle"
        )
    return Course(
        family=family.name,
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
    """The obstacle's size, in its own unit, at a difficulty; 0 to 1 is the family's range."""
    return _size(get_family(family), difficulty)


def _size(family: CourseFamily, difficulty: float) -> float:
    span, top = family.size, family.max_difficulty
    if not 0.0 <= difficulty <= top:  # also refuses NaN
        end = f"; {top:.4g} is {family.limit:g} {span.unit}" if family.limit else ""
        raise UserError(
            f"difficulty {difficulty:g} of '{family.name}' is outside [0, {top:.4g}]; "
            f"0 is {span.low:g} {span.unit}, 1 is {span.high:g} {span.unit}{end}"
        )
    return span.at(difficulty)


def difficulty_of(family: str, size: float) -> float:
    """The inverse of `size_of`: the difficulty of a size in metres or degrees."""
    found = get_family(family)
    span = found.size
    if not span.low <= size <= found.max_size:
        raise UserError(
            f"'{family}' comes in {span.low:g} to {found.max_size:g} {span.unit}, not {size:g}; "
            f"choose a size in that range"
        )
    return min(found.max_difficulty, span.fraction(size))
