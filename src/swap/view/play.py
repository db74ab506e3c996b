"""A trained policy and a course in; a film of its one attempt, and how it ended, out."""

from dataclasses import replace
from pathlib import Path

import torch

from swap.courses import Course
from swap.env import End, ParkourEnv
from swap.evaluate.trained import Trained, engine_for
from swap.sim import CONTROL_DT
from swap.view.recorder import Film
from swap.view.video import save_picture, strip

EVERY = 2
"""Control steps a frame: films run at 25 frames a second, in real time."""
LINGER_S = 0.5
"""The film goes on for a moment after the end."""


@torch.no_grad()
def play(
    robot: Trained,
    course: Course,
    path: Path,
    *,
    speed_mps: float = 1.0,
    device: str = "cpu",
    seed: int = 0,
    still: Path | None = None,
) -> tuple[End, float]:
    """The end and its time. `still`: also a strip of four pictures across the attempt."""
    cfg = replace(
        robot.cfg.env, camera=True, random=replace(robot.cfg.env.random, push_every_s=0.0)
    )
    env = ParkourEnv.trials(
        cfg,
        [course],
        command=(speed_mps, 0.0, 0.0),
        engine=engine_for(device),
        device=device,
        seed=seed,
    )
    policy, obs = robot.policy_for(env), env.reset()
    caption = f"{course.family.replace('_', ' ')} {course.size:.2f}"
    frames, after = [], 0.0
    with Film(env.robot, path, fps=round(1 / (EVERY * CONTROL_DT))) as film:
        for step in range(env.cfg.episode_steps + 1):
            if step % EVERY == 0:
                picture = film.frame(
                    env.engine.state,
                    env.engine.boxes,
                    depth=obs["depth_clean"][0],
                    command=obs["command"][0],
                    caption=caption,
                )
                frames.append(picture)
            if env.finished:
                after += CONTROL_DT
                if after > LINGER_S:
                    break
            obs = env.step(policy.mean(obs)).obs
    if still is not None:
        save_picture(strip(frames, 4), still)
    told = env.outcome()
    return End(int(told.reason[0])), float(told.time_s[0])
