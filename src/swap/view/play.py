"""A trained policy and a course in; a film of its one attempt, and how it ended, out."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from swap.courses import Course
from swap.env import End, ParkourEnv
from swap.errors import UserError
from swap.evaluate.imagination import Imagination
from swap.evaluate.trained import Trained, engine_for
from swap.sim import CONTROL_DT
from swap.view.panels import Panel, row
from swap.view.recorder import Film
from swap.view.render import Look
from swap.view.video import save_picture, strip
from swap.world_model import DepthCode

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
    imagine: bool = False,
    look: Look | None = None,
    time_s: float = 12.0,
) -> tuple[End, float]:
    """The end and its time. `still`: also a strip of four pictures across the attempt; `imagine`:
    below the robot what it sees, believes to see, and foresaw."""
    if imagine and not robot.sees:
        raise UserError(
            f"a robot of preset {robot.name} has no world model to look into; leave --imagine out"
        )
    cfg = replace(
        robot.cfg.env, camera=True, random=replace(robot.cfg.env.random, push_every_s=0.0)
    )
    env = ParkourEnv.trials(
        cfg,
        [course],
        command=(speed_mps, 0.0, 0.0),
        time_s=time_s,
        engine=engine_for(device),
        device=device,
        seed=seed,
    )
    driver, obs = robot.driver_for(env), env.reset()
    imagination = Imagination(driver) if imagine else None
    caption = f"{course.family.replace('_', ' ')} {course.size:.2f}"
    frames, after = [], 0.0
    with Film(env.robot, path, fps=round(1 / (EVERY * CONTROL_DT)), look=look) as film:
        for step in range(env.cfg.episode_steps + 1):
            action = driver.act(obs)
            if imagination is not None:
                imagination.follow(action)
            if step % EVERY == 0:
                picture = film.frame(
                    env.engine.state,
                    env.engine.boxes,
                    depth=obs["depth_clean"][0] if imagination is None else None,
                    command=obs["command"][0],
                    caption=caption,
                    below=None if imagination is None else mind(imagination, obs, film.width),
                )
                frames.append(picture)
            if env.finished:
                after += CONTROL_DT
                if after > LINGER_S:
                    break
            obs = env.step(action).obs
    if still is not None:
        save_picture(strip(frames, 4), still)
    told = env.outcome()
    return End(int(told.reason[0])), float(told.time_s[0])


def mind(imagination: Imagination, obs: Mapping[str, Tensor], width: int) -> np.ndarray:
    """What there is to see, is seen, is believed and was foreseen, side by side."""
    images = imagination.images
    assert images is not None, "nothing was followed yet"
    true, code = obs["depth_clean"][0], imagination.code
    age_s = images.ticks * imagination.k * CONTROL_DT

    def off(image: Tensor) -> str:
        return f"off by {error_m(code, image, true):.2f} m"

    panels: list[Panel] = [
        ("true depth", f"{code.near_m:g} m bright, {code.far_m:g} m dark", true),
        ("as the camera sees it", off(obs["depth_noisy"][0]), obs["depth_noisy"][0]),
        ("reconstructed", off(images.believed[0]), images.believed[0]),
        (f"predicted {age_s:.1f} s ago", off(images.foreseen[0]), images.foreseen[0]),
    ]
    return row(panels, width)


def error_m(code: DepthCode, image: Tensor, true: Tensor) -> float:
    """The mean error of a pixel, m."""
    return float((image - true).abs().mean()) * (code.far_m - code.near_m)
