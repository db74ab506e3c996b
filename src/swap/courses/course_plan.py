"""Joins pieces along x into one course: several obstacles in a row, platforms with a drop, banks of
unequal height."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from swap.courses.blocks import (
    BEHIND_M,
    MARGIN_M,
    OVERLAP_M,
    PIT_Z,
    THICK_M,
    Block,
    Plane,
    pit,
    plate,
    slab,
)
from swap.courses.course import SLOTS, Course
from swap.courses.pieces import Piece, Span
from swap.courses.slope import GRIP, MOST
from swap.errors import UserError
from swap.validate import check_numbers

LANE_M = (0.8, 3.0)
TALLEST_M = 6.0
"""Greatest height difference between the lowest and the highest ground of a course."""


@dataclass(frozen=True)
class CoursePlan:
    """Pieces in a row, between a level run-up and a level landing."""

    name: str
    pieces: tuple[Piece, ...] = field(default_factory=tuple)
    lane_m: float = 1.5
    """Half width of the lane."""
    run_up_m: float = 3.0
    landing_m: float = 3.0

    def __post_init__(self) -> None:
        check_numbers(self)
        for what, (low, high) in {
            "lane_m": LANE_M,
            "run_up_m": (1.0, 10.0),
            "landing_m": (1.5, 10.0),
        }.items():
            if not low <= (value := getattr(self, what)) <= high:
                raise UserError(f"{what}={value:g}; use {low:g} to {high:g}")
        if not self.pieces:
            raise UserError("a course without pieces; give at least one, e.g. kind = 'box'")
        if (boxes := len(self._blocks())) > SLOTS:
            raise UserError(f"{boxes} boxes, and a course has at most {SLOTS}; use fewer pieces")
        heights = [z for span in self._spans() for z in (span.z0, span.z1)]
        if max(heights) - min(heights) > TALLEST_M:
            raise UserError(
                f"{max(heights) - min(heights):.1f} m from its lowest ground to the highest; use "
                f"at most {TALLEST_M:g} m"
            )

    @property
    def ends(self) -> list[tuple[float, str]]:
        """Where each piece ends along x, with its label."""
        return [
            (end[0], piece.label)
            for end, piece in zip(self._joints()[1:], self.pieces, strict=True)
        ]

    def build(self) -> Course:
        """Build the course. Its lowest ground is at z = 0, so that a robot below it is in a pit."""
        spans, (goal_x, goal_z) = self._spans(), self._joints()[-1]
        low = min(min(span.z0, span.z1) for span in spans)
        blocks = self._blocks()
        lift = np.array([0.0, 0.0, -low])
        steep = max(abs(span.z1 - span.z0) / (span.end - span.start) for span in spans)
        return Course(
            family=self.name,
            difficulty=0.0,
            pos=np.stack([block.pos + lift for block in blocks]),
            quat=np.stack([block.quat for block in blocks]),
            half=np.stack([block.half for block in blocks]),
            friction=min(GRIP * steep, MOST),
            start_z=-low,
            goal_x=goal_x,
            goal_z=goal_z - low,
            goal_tilt=0.0,
            lane=self.lane_m,
            size=0.0,
        )

    def _joints(self) -> list[tuple[float, float]]:
        """x and height where each piece begins, and where the last one ends."""
        at = [(self.run_up_m, 0.0)]
        for piece in self.pieces:
            at.append(piece.end(*at[-1]))
        return at

    def _spans(self) -> list[Span]:
        joints = self._joints()
        middle = [
            span
            for piece, at in zip(self.pieces, joints[:-1], strict=True)
            for span in piece.spans(*at)
        ]
        x, z = joints[-1]
        every = [
            Span(-BEHIND_M, self.run_up_m, 0.0, 0.0),
            *middle,
            Span(x, x + self.landing_m, z, z),
        ]
        return _joined(every)

    def _blocks(self) -> list[Block]:
        spans, side = self._spans(), self.lane_m + MARGIN_M
        floor = min(min(span.z0, span.z1) for span in spans) + PIT_Z - THICK_M
        blocks = [_block(spans, k, side, floor) for k in range(len(spans))]
        if any(a.end != b.start for a, b in pairwise(spans)):
            wide = pit((spans[0].start, spans[-1].end), side)
            blocks.append(wide._replace(pos=wide.pos + np.array([0, 0, floor + THICK_M - PIT_Z])))
        return blocks


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Merge neighbours at the same height, so that there is no seam."""
    out = [spans[0]]
    for span in spans[1:]:
        last = out[-1]
        if last.end == span.start and last.level and span.level and last.z1 == span.z0:
            out[-1] = last._replace(end=span.end)
        else:
            out.append(span)
    return out


def _block(spans: Sequence[Span], k: int, side: float, floor: float) -> Block:
    """The box of span k. It extends below a higher neighbour, so that boxes overlap."""
    span = spans[k]
    start, end = span.start, span.end
    before = spans[k - 1] if k and spans[k - 1].end == start else None
    after = spans[k + 1] if k + 1 < len(spans) and spans[k + 1].start == end else None
    under = (before and min(OVERLAP_M, before.end - before.start)) or 0.0
    ahead = (after and min(OVERLAP_M, after.end - after.start)) or 0.0
    if span.level:
        if before and min(before.z0, before.z1) >= span.z0 and before.z0 > span.z0:
            start -= under
        if after and min(after.z0, after.z1) >= span.z0 and after.z1 > span.z0:
            end += ahead
        return slab((start, end), (-side, side), (floor, span.z0))
    grade = (span.z1 - span.z0) / (span.end - span.start)
    if before and grade > 0:
        start -= under
    if after and grade < 0:
        end += ahead
    corners = [(x, y) for x in (start, end) for y in (-side, side)]
    return plate(Plane(span.z0, grade, 0.0, span.start), corners)
