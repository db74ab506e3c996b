"""Writes a film of one second in which a robot is dropped with its front feet on a box."""

from pathlib import Path

import numpy as np
import torch

from swap.courses import difficulty_of, make
from swap.robots import load
from swap.sensors import DepthRenderer, OpticsCfg
from swap.sim import make_engine, standing
from swap.view.film import Film
from swap.view.render import PictureCfg

PITCH_RAD = -0.40
"""Nose up, so that the front feet come down on the box."""
FORE, HIND = (0.0, 1.35, -1.9), (0.0, 1.05, -1.2)
"""Joint targets: bent front legs, stretched hind legs."""


def drop(path: str | Path, steps: int = 50, look: PictureCfg | None = None) -> list[np.ndarray]:
    """Write the film with the CPU engine and return its frames."""
    robot = load("apollo")
    course = make("box", difficulty_of("box", 0.45), np.random.default_rng(3))
    engine = make_engine("cpu", robot, [course], n=1, threads=1)
    everyone = torch.ones(1, dtype=torch.bool)
    engine.assign(everyone, torch.zeros(1, dtype=torch.int32))
    start = standing(robot, torch.tensor([course.start_z]))
    start.base_pos[0] += torch.tensor([course.goal_x - 0.20, 0.0, 0.40])
    start.base_quat[0] = torch.tensor([np.cos(PITCH_RAD / 2), 0.0, np.sin(PITCH_RAD / 2), 0.0])
    target = torch.tensor([*FORE, *FORE, *HIND, *HIND])[None]
    start.joint_pos[:] = target
    engine.reset(everyone, start)
    sees = DepthRenderer(OpticsCfg(), robot.camera, n=1)
    frames = []
    with Film(robot, path, look=look) as film:
        for _ in range(steps):
            engine.step(target)
            depth = sees(engine.boxes, engine.state.base_pos, engine.state.base_quat)[0]
            caption = f"{robot.name} · box {course.size:.2f} m"
            frame = film.frame(
                engine.state, engine.boxes, 0, depth=depth, command=(0.0, 0.0, 0.0), caption=caption
            )
            frames.append(frame)
    return frames
