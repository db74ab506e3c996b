"""A trained policy in; how often it succeeds, by family and size of the obstacle, out.

Each point is so many trials on random courses of one size: one episode each, mean actions, a fixed
command, the noise, randomisation and scattered starts of training. A trial is a success if the
robot stands beyond the obstacle in time (see `swap.courses.success`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from swap.courses import FAMILIES, Course, make, size_of
from swap.env import ParkourEnv
from swap.env.terminations import End
from swap.errors import UserError
from swap.evaluate.trained import Trained, engine_for
from swap.evaluate.wilson import wilson

VARIANTS = 10
"""Different courses behind one point, at most."""
WORLDS = 16384
"""Trials at a time, at most."""


def points(
    families: Sequence[str], per_family: int, hardest: float = 1.0
) -> list[tuple[str, float]]:
    """(family, difficulty), evenly from 0 to `hardest`; a family without sizes has one."""
    out = []
    for name in families:
        span = FAMILIES[name].size
        steps = [0.0] if span.low == span.high else np.linspace(0, hardest, per_family).tolist()
        out += [(name, float(d)) for d in steps]
    return out


def measure(
    robot: Trained,
    wanted: Sequence[tuple[str, float]],
    *,
    trials: int,
    speed_mps: float,
    device: str,
    seed: int = 0,
    blind: bool = False,
) -> Iterator[dict[str, Any]]:
    """A row a point, batch by batch. `blind`: with the camera blanked."""
    if blind and not robot.sees:
        raise UserError(f"a robot of preset {robot.name} has no camera to blank; leave --blind out")
    if trials < 1:
        raise UserError(f"--trials {trials} measures nothing; use 1 or more")
    variants = min(VARIANTS, trials)
    each = -(-trials // variants)
    rng = np.random.default_rng(seed)
    at_once = max(1, WORLDS // (variants * each))
    for first in range(0, len(wanted), at_once):
        some = wanted[first : first + at_once]
        courses = [make(family, d, rng) for family, d in some for _ in range(variants)]
        success, stalled = attempt(
            robot, courses, each, speed_mps, device, seed + first, blind=blind
        )
        for k, (family, difficulty) in enumerate(some):
            mine = slice(k * variants * each, (k + 1) * variants * each)
            won, n = int(success[mine].sum()), variants * each
            low, high = wilson(won, n)
            yield {
                "family": family,
                "size": size_of(family, difficulty),
                "unit": FAMILIES[family].size.unit,
                "difficulty": difficulty,
                "trials": n,
                "success": won / n,
                "low": low,
                "high": high,
                "stalled": float(stalled[mine].float().mean()),
            }


@torch.no_grad()
def attempt(
    robot: Trained,
    courses: Sequence[Course],
    each: int,
    speed_mps: float,
    device: str,
    seed: int,
    *,
    blind: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One episode in every world: success [N] and stalled [N], on the CPU."""
    # Pushes are a part of training, not of the task.
    random = replace(robot.cfg.env.random, push_every_s=0.0)
    env = ParkourEnv.trials(
        replace(robot.cfg.env, random=random),
        courses,
        each=each,
        command=(speed_mps, 0.0, 0.0),
        engine=engine_for(device),
        device=device,
        seed=seed,
    )
    driver, obs = robot.driver_for(env, blind=blind), env.reset()
    for step in range(env.cfg.episode_steps + 1):
        obs = env.step(driver.act(obs)).obs
        if step % 50 == 0 and env.finished:
            break
    told = env.outcome()
    return told.success.cpu(), (told.reason == int(End.STALLED)).cpu()
