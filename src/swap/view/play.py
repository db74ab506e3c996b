"""Films one attempt of a trained policy at each course, and says how it ended."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from swap.courses import FAMILIES, Course
from swap.env import EndReason, Trials
from swap.errors import UserError
from swap.evaluate.imagination import Imagination
from swap.runs.trained_robot import TrainedRobot
from swap.sensors import DepthCameraCfg
from swap.sim import CONTROL_DT, engine_for
from swap.view.camera import ChaseCamera, ChaseCameraCfg
from swap.view.film import Film
from swap.view.panels import Panel, row
from swap.view.render import PictureCfg
from swap.view.video import save_picture, stacked, strip
from swap.world_model import DepthCodec

if TYPE_CHECKING:
    from swap.view.live.recording import RecordedAttempts

FPS = (50.0, 25.0, 12.5, 10.0)
"""Frame rates with a whole number of control steps per frame, so that films run in real time."""
LINGER_S = 0.5
"""The film goes on for this time after the end."""
STILLS = 4


def play(
    robot: TrainedRobot,
    courses: Sequence[Course],
    path: Path,
    *,
    speed_mps: float = 1.0,
    device: str = "cpu",
    seed: int = 0,
    still: Path | None = None,
    imagine: bool = False,
    record: Path | None = None,
    look: PictureCfg | None = None,
    fps: float = 25.0,
    time_s: float = 12.0,
) -> list[tuple[EndReason, float]]:
    """Films the attempts one after the other; returns how each ended, and its time. `still` adds a
    strip of four pictures of each; `imagine` shows below the robot what it sees, reconstructs, and
    predicted; `record` also writes a page that plays in a browser."""
    if imagine and not robot.has_world_model:
        raise UserError(
            f"a robot of preset {robot.name} has no world model to look into; leave --imagine out"
        )
    if fps not in FPS:
        raise UserError(f"--fps {fps:g}; use one of {', '.join(f'{f:g}' for f in FPS)}")
    cfg = robot.cfg.env
    cfg = replace(
        cfg,
        camera=cfg.camera or DepthCameraCfg(),
        random=replace(cfg.random, push_every_s=0.0),
    )
    ends, strips = [], []
    with Film(cfg.load_robot(), path, fps=fps, look=look) as film, recorder(record) as recorded:
        for course in courses:
            env = Trials(
                cfg,
                [course],
                command=(speed_mps, 0.0, 0.0),
                time_s=max(time_s, 2 * course.goal_x / speed_mps)
                if course.family not in FAMILIES
                else time_s,
                engine=engine_for(device),
                device=device,
                seed=seed,
            )
            if recorded is not None:
                recorded.begin(env, course)
            frames = film_attempt(robot, env, film, titled(course), imagine, recorded)
            strips.append(strip(frames, STILLS))
            outcome = env.outcome()
            ends.append((EndReason(int(outcome.reason[0])), float(outcome.time_s[0])))
    if still is not None:
        save_picture(stacked(strips), still)
    return ends


@torch.no_grad()
def film_attempt(
    robot: TrainedRobot,
    env: Trials,
    film: Film,
    caption: str,
    imagine: bool,
    recorded: "RecordedAttempts | None" = None,
) -> list[np.ndarray]:
    """Runs one attempt; returns its frames, which are also added to the film."""
    # A new camera, because that of the last attempt looks elsewhere.
    film.camera = ChaseCamera(ChaseCameraCfg.of(film.robot))
    agent, obs = robot.agent_for(env), env.reset()
    followed = Imagination(agent) if imagine or (recorded and robot.has_world_model) else None
    imagination = followed if imagine else None
    every = round(1 / (film.video.fps * CONTROL_DT))
    frames, after = [], 0.0
    for step in range(env.cfg.episode_steps + 1):
        action = agent.act(obs)
        if followed is not None:
            followed.follow(action)
        if recorded is not None:
            recorded.add(env, followed, obs)
        if step % every == 0:
            picture = film.frame(
                env.engine.state,
                env.engine.boxes,
                depth=obs["depth_clean"][0] if imagination is None else None,
                command=obs["command"][0],
                caption=caption,
                below=None
                if imagination is None
                else imagination_row(imagination, obs, film.width),
            )
            frames.append(picture)
        if env.finished:
            after += CONTROL_DT
            if after > LINGER_S:
                break
        obs = env.step(action).obs
    return frames


@contextmanager
def recorder(path: Path | None) -> Iterator["RecordedAttempts | None"]:
    """Saves what was recorded, if all went well; None where nothing is asked for."""
    if path is None:
        yield None
        return
    from swap.view.live.recording import RecordedAttempts

    recorded = RecordedAttempts("SWAP")
    try:
        yield recorded
        recorded.save(path)
    finally:
        recorded.close()


def titled(course: Course) -> str:
    """`box 0.80 m`, or the name that a file gave it."""
    if course.family not in FAMILIES:
        return course.family
    return f"{course.family.replace('_', ' ')} {FAMILIES[course.family].size.label(course.size)}"


def imagination_row(imagination: Imagination, obs: Mapping[str, Tensor], width: int) -> np.ndarray:
    """The true depth, the camera's image, its reconstruction and its prediction, side by side."""
    images = imagination.images
    assert images is not None, "nothing was followed yet"
    true, code = obs["depth_clean"][0], imagination.code
    age_s = images.ticks * imagination.k * CONTROL_DT

    def off(image: Tensor) -> str:
        return f"off by {error_m(code, image, true):.2f} m"

    panels: list[Panel] = [
        ("true depth", f"{code.near_m:g} m bright, {code.far_m:g} m dark", true),
        ("as the camera sees it", off(obs["depth_noisy"][0]), obs["depth_noisy"][0]),
        ("reconstructed", off(images.reconstructed[0]), images.reconstructed[0]),
        (f"predicted {age_s:.1f} s ago", off(images.predicted[0]), images.predicted[0]),
    ]
    return row(panels, width)


def error_m(code: DepthCodec, image: Tensor, true: Tensor) -> float:
    """The mean error over the pixels, m."""
    return float((image - true).abs().mean()) * (code.far_m - code.near_m)
