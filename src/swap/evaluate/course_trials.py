"""Measures how often a robot crosses a course made of pieces, and where it fails.

A course from a file is the same in every trial; starts, noise and robots differ.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from swap.courses.course_plan import CoursePlan
from swap.courses.pieces import Ground
from swap.courses.success import PAST_M
from swap.env.terminations import EndReason
from swap.env.trials import TrialResults
from swap.evaluate.success import WORLDS, Progress, Side, check_request, reason_name, run_trials
from swap.evaluate.wilson import wilson
from swap.runs.trained_robot import TrainedRobot
from swap.sim import engine_for


def measure_courses(
    robot: TrainedRobot,
    plans: Sequence[CoursePlan],
    *,
    trials: int,
    speeds_mps: Sequence[float],
    device: str,
    seed: int = 0,
    side: Side = "both",
    blind: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Returns a row for each speed and course; for `both` sides every second trial is mirrored."""
    check_request(robot, trials, speeds_mps, seed, blind)
    total, done = len(speeds_mps) * len(plans) * trials, 0
    at_once = WORLDS[engine_for(device)]
    for speed in speeds_mps:
        for plan in plans:
            course = plan.build()
            images = {"left": (course,), "right": (course.mirror(),)}
            both = images.get(side, (course, course.mirror()))
            results = []
            for first in range(0, trials, at_once):
                numbers = range(first, min(first + at_once, trials))
                courses = [both[k % len(both)] for k in numbers]
                outcome = run_trials(robot, courses, speed, device, seed + first, blind=blind)
                results.append(outcome)
                done += len(courses)
                if on_progress is not None:
                    on_progress(Progress(done, total, done / total))
            yield row_of(plan, speed, side, results)


def row_of(
    plan: CoursePlan, speed_mps: float, side: Side, results: Sequence[TrialResults]
) -> dict[str, Any]:
    """The success rate, and the pieces at which the other trials ended: the last one that they
    reached."""
    reasons = [int(x) for result in results for x in result.reason]
    far_m = [float(x) for result in results for x in result.far_m]
    won = reasons.count(int(EndReason.SUCCESS))
    low, high = wilson(won, len(reasons))
    failed = [(r, x) for r, x in zip(reasons, far_m, strict=True) if r != EndReason.SUCCESS]
    why = Counter(reason_name(r) for r, _ in failed)
    where = Counter(piece_at(plan, x) for _, x in failed)
    return {
        "course": plan.name,
        "length, m": plan.ends[-1][0],
        "speed": speed_mps,
        "side": side,
        "trials": len(reasons),
        "success": won / len(reasons),
        "low": low,
        "high": high,
        "failures": ", ".join(f"{name} {n}" for name, n in why.most_common()),
        "ended at": ", ".join(f"{name} ({n})" for name, n in where.most_common()),
    }


def piece_at(plan: CoursePlan, x: float) -> str:
    """The obstacle that a robot at `x` has not passed yet: `2: gap 1.20 m`."""
    for k, (piece, (end, label)) in enumerate(zip(plan.pieces, plan.ends, strict=True)):
        if not isinstance(piece, Ground) and x < end + PAST_M:
            return f"{k + 1}: {label}"
    return "landing"
