"""Measures how often a trained policy succeeds, by family and size of the obstacle.

Each point is a number of trials of one size. A trial is one episode on its own random course, with
mean actions, a fixed command, and the noise, randomisation and scattered starts of training. It is
a success if the robot gets past the obstacle in time (see `swap.courses.success`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from swap.courses import FAMILIES, Course, make, size_of
from swap.env import EnvCfg
from swap.env.rewards import SLOW
from swap.env.terminations import EndReason
from swap.env.trials import TrialResults, Trials
from swap.errors import UserError
from swap.evaluate.causes import RANDOM, causes, drawn_values
from swap.evaluate.conditions import Condition
from swap.evaluate.wilson import wilson
from swap.runs.trained_robot import TrainedRobot
from swap.sim import engine_for

Side = Literal["left", "right", "both"]
"""The high side of tilted courses: left, as they are built; right, all mirrored; both, every second
trial mirrored."""
WORLDS = {"cpu": 2048, "gpu": 16384}
"""Most trials at a time, by engine. On the CPU a world takes 0.4 MiB."""
TIME_S = 20.0
"""The time limit at 1 m/s and above; slower commands and long courses have more."""
SPEEDS_MPS = (SLOW, 10.0)
"""Lowest and highest commanded speed that can be measured."""
LOOK_EVERY = 10
"""Control steps between two checks of which trials have ended; on a GPU a check waits for the
device."""


@dataclass(frozen=True)
class Progress:
    """How far a measurement has come."""

    ended: int
    """Number of trials that have ended."""
    trials: int
    """Number of all trials."""
    fraction: float
    """Fraction of the work that is done, 0 to 1; an estimate within a batch of trials."""


def points(
    families: Sequence[str], per_family: int, max_difficulty: float = 1.0
) -> list[tuple[str, float]]:
    """Pairs (family, difficulty), evenly spaced from 0 to `max_difficulty`, or as far as a family
    can be built; a family without sizes has one point."""
    out = []
    for name in families:
        span, top = FAMILIES[name].size, min(max_difficulty, FAMILIES[name].max_difficulty)
        steps = [0.0] if span.low == span.high else np.linspace(0, top, per_family).tolist()
        out += [(name, float(d)) for d in steps]
    return out


def course_of(
    family: str,
    difficulty: float,
    trial: int,
    *,
    seed: int,
    side: Side,
    tilt_deg: tuple[float, float] | None = None,
) -> Course:
    """The course of one trial. It does not depend on how many trials there are, nor on what else is
    measured."""
    size = round(size_of(family, difficulty) * 1e4)  # the same for a size and for its difficulty
    rng = np.random.default_rng([seed, trial, size, *family.encode()])
    made = make(family, difficulty, rng, tilt_deg)
    return made.mirror() if side == "right" or (side == "both" and trial % 2) else made


def measure(
    robot: TrainedRobot,
    wanted: Sequence[tuple[str, float]],
    *,
    trials: int,
    speeds_mps: Sequence[float],
    device: str,
    seed: int = 0,
    side: Side = "both",
    tilt_deg: tuple[float, float] | None = None,
    blind: bool = False,
    why: bool = False,
    condition: Condition | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yields a row for each speed and point, batch by batch. `tilt_deg` is that of tilted courses,
    by default as in the robot's training; `blind` blanks the camera; `condition` is a rough one;
    `why` adds causes of failures to the rows; `on_progress` is called several times per batch."""
    check_request(robot, trials, speeds_mps, seed, blind)
    tilt_deg = tilt_deg or robot.cfg.env.tilt_deg
    each, at_once = len(wanted) * trials, WORLDS[engine_for(device)]
    for pass_, speed in enumerate(speeds_mps):
        reasons = torch.empty(0, dtype=torch.long)  # of trials that are not in a row yet
        values = torch.empty(0, len(RANDOM), dtype=torch.float64)  # of the same
        rows = iter(wanted)
        for first in range(0, each, at_once):
            numbers = range(first, min(first + at_once, each))
            courses = [
                course_of(*wanted[k // trials], k % trials, seed=seed, side=side, tilt_deg=tilt_deg)
                for k in numbers
            ]
            before = pass_ * each + first
            look = partial(
                _report_progress, on_progress, before, len(courses), len(speeds_mps) * each
            )
            outcome = run_trials(
                robot,
                courses,
                speed,
                device,
                seed + first,
                blind=blind,
                condition=condition,
                look=look,
            )
            reasons = torch.cat([reasons, outcome.reason.cpu()])
            values = torch.cat([values, drawn_values(outcome.drawn)])
            while len(reasons) >= trials:
                row = _row(*next(rows), speed, side, reasons[:trials].tolist())
                if why:
                    won = reasons[:trials] == int(EndReason.SUCCESS)
                    row["causes"] = causes(values[:trials], won)
                yield row
                reasons, values = reasons[trials:], values[trials:]


def trials_env(
    cfg: EnvCfg,
    courses: Sequence[Course],
    speed_mps: float,
    device: str,
    seed: int,
    *,
    each: int = 1,
    push_every_s: float = 0.0,
    seen: Sequence[Course] | None = None,
) -> Trials:
    """Builds `each` worlds on every course, with a command to walk ahead at that speed and enough
    time. `seen`: what the cameras see instead."""
    check_speed(speed_mps)
    # Pushes are a part of training, not of the task, unless they are asked for.
    return Trials(
        replace(cfg, random=replace(cfg.random, push_every_s=push_every_s)),
        courses,
        each=each,
        command=(speed_mps, 0.0, 0.0),
        time_s=time_limit_s(courses, speed_mps),
        engine=engine_for(device),
        device=device,
        seed=seed,
        seen=seen,
    )


def time_limit_s(courses: Sequence[Course], speed_mps: float) -> float:
    """Twice the time that the distance takes, and at least that of a single obstacle."""
    way_s = 2 * max(course.goal_x for course in courses)
    return max(TIME_S, way_s) / min(speed_mps, 1.0)


@torch.no_grad()
def run_trials(
    robot: TrainedRobot,
    courses: Sequence[Course],
    speed_mps: float,
    device: str,
    seed: int,
    *,
    each: int = 1,
    blind: bool = False,
    condition: Condition | None = None,
    look: Callable[[int, float], None] | None = None,
) -> TrialResults:
    """Runs one episode in every world, `each` on every course. `look` is called now and then with
    the number of ended trials and the fraction of the work that is done."""
    rough = condition or Condition()
    courses, seen = rough.courses(courses, seed)
    env = trials_env(
        rough.cfg(robot.cfg.env),
        courses,
        speed_mps,
        device,
        seed,
        each=each,
        push_every_s=rough.push_every_s,
        seen=seen,
    )
    agent, obs = robot.agent_for(env, blind=blind), env.reset()
    rough.worlds(env)
    limit = env.cfg.episode_steps
    for step in range(limit + 1):
        obs = env.step(agent.act(obs)).obs
        if step % LOOK_EVERY == 0 or step == limit:
            ended = env.ended
            if look is not None:
                # The batch is over when all trials have ended or time is up, whichever comes first.
                look(ended, 1 - (1 - ended / env.n) * (1 - step / limit))
            if ended == env.n:
                break
    return env.outcome()


def _report_progress(
    on_progress: Callable[[Progress], None] | None,
    before: int,
    batch: int,
    total: int,
    ended: int,
    share: float,
) -> None:
    """Reports the state of a batch as the progress of the whole."""
    if on_progress is not None:
        on_progress(Progress(before + ended, total, (before + share * batch) / total))


def reason_name(reason: int) -> str:
    """The reason in words, for example `upside down`."""
    return EndReason(reason).name.lower().replace("_", " ")


def _row(
    family: str, difficulty: float, speed_mps: float, side: Side, reasons: Sequence[int]
) -> dict[str, Any]:
    counts, n = Counter(reasons), len(reasons)
    won = counts.pop(int(EndReason.SUCCESS), 0)
    why = {reason_name(reason): times for reason, times in counts.most_common()}
    low, high = wilson(won, n)
    return {
        "family": family,
        "size": size_of(family, difficulty),
        "unit": FAMILIES[family].size.unit,
        "difficulty": difficulty,
        "speed": speed_mps,
        "side": side,
        "trials": n,
        "success": won / n,
        "low": low,
        "high": high,
        "failures": ", ".join(f"{name} {times}" for name, times in why.items()),
        "reasons": why,
        "stalled": why.get(reason_name(EndReason.STALLED), 0) / n,
    }


def check_request(
    robot: TrainedRobot, trials: int, speeds_mps: Sequence[float], seed: int, blind: bool
) -> None:
    """Raises a UserError for what cannot be measured."""
    if blind and not robot.has_world_model:
        raise UserError(f"a robot of preset {robot.name} has no camera to blank; leave --blind out")
    if trials < 1:
        raise UserError(f"--trials {trials} measures nothing; use 1 or more")
    if seed < 0:
        raise UserError(f"--seed {seed} is negative; use 0 or more")
    for speed in speeds_mps:
        check_speed(speed)


def check_speed(speed_mps: float) -> None:
    """Raises a UserError for speeds outside SPEEDS_MPS: slower commands mean standing still, and
    slow trials take too long."""
    if not SPEEDS_MPS[0] <= speed_mps <= SPEEDS_MPS[1]:
        low, high = SPEEDS_MPS
        raise UserError(f"a speed of {speed_mps:g} m/s leads to no goal; use {low:g} to {high:g}")
