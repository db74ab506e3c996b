"""Holds what a visitor has chosen: model, course, command, faults, and what is shown."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from swap.courses import FAMILIES, Course, difficulty_of, make
from swap.courses.course_plan import CoursePlan
from swap.errors import UserError
from swap.validate import check_numbers
from swap.view.live.driving import VelocityCommand
from swap.view.live.faults import Faults

Side = Literal["left", "right"]
MOST_SEED = 2**31 - 1
"""The largest that the page can show."""
RATES = (1.0, 0.5, 0.25, 0.1)
"""Of time: real, and slow motion."""


@dataclass(frozen=True)
class CourseChoice:
    """One obstacle, which each seed builds differently at the same size; or a plan of several."""

    family: str = "box"
    size: float = 0.6
    """In the family's own unit."""
    side: Side = "left"
    """Where it is high, if it has a high side; right is the mirror image."""
    seed: int = 1
    plan: CoursePlan | None = None
    """Takes the place of the obstacle."""

    def __post_init__(self) -> None:
        check_numbers(self, "course ")
        if self.seed > MOST_SEED:
            raise UserError(f"seed {self.seed} is too large here; use 0 to {MOST_SEED}")
        difficulty_of(self.family, self.size)

    def build(self) -> Course:
        """Builds the course of `swap play` with the same options."""
        if self.plan is not None:
            made = self.plan.build()
        else:
            rng = np.random.default_rng(self.seed)
            made = make(self.family, difficulty_of(self.family, self.size), rng)
        return made.mirror() if self.side == "right" else made

    @property
    def title(self) -> str:
        """`box 0.60 m`."""
        if self.plan is not None:
            return self.plan.name
        return f"{self.family.replace('_', ' ')} {FAMILIES[self.family].size.label(self.size)}"


@dataclass(frozen=True)
class Settings:
    """All that a visitor can choose."""

    model: str = "swap"
    course: CourseChoice = field(default_factory=CourseChoice)
    mirrored: bool = False
    """A second robot in the mirrored course."""
    command: VelocityCommand = field(default_factory=lambda: VelocityCommand(1.0))
    faults: Faults = field(default_factory=Faults)
    paused: bool = False
    rate: float = 1.0
    """Of time."""
    again: bool = True
    """An attempt that is over begins again by itself."""
    follow: bool = True
    """The camera goes with the robot."""
    forces: bool = False
    ground: bool = False
    """Show the ground as the robot believes it."""
    ghost: bool = False
    """Show the robot as it was foreseen."""

    def __post_init__(self) -> None:
        if self.rate not in RATES:
            raise UserError(f"rate={self.rate:g}; use one of {', '.join(map(str, RATES))}")

    def needs_new_world(self, other: "Settings") -> bool:
        """Whether the change to the other settings needs a new world."""
        return (self.model, self.course, self.mirrored) != (
            other.model,
            other.course,
            other.mirrored,
        )
