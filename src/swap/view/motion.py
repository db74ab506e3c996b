"""Draws clips without physics, as a film, or as a picture with a row of moments for each clip."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from swap.courses import make
from swap.courses.course import Course, stack
from swap.motions import Clip
from swap.robots import Robot
from swap.robots.kinematics import LegPoints
from swap.robots.mjcf import force_groups
from swap.sim import CONTROL_DT, State
from swap.view.camera import View
from swap.view.film import Film
from swap.view.render import PictureCfg, Renderer
from swap.view.scene import Scene, scene_of
from swap.view.video import save_picture

SMALL = PictureCfg(width=220, height=150)
"""The size of each picture in a row."""
SEAM = 3
COLOURS = 96


def film(robot: Robot, several: Sequence[Clip], path: Path, look: PictureCfg | None = None) -> None:
    """Films one clip after the other, in real time."""
    boxes = stack([_ground()])
    with Film(robot, path, look=look) as out:
        for clip in several:
            command = (clip.command.forward_mps, clip.command.left_mps, clip.command.turn_rps)
            for state in states(robot, clip):
                out.frame(state, boxes, command=command, caption=title(clip))


def rows(
    robot: Robot, several: Sequence[Clip], path: Path, moments: int = 6, look: PictureCfg = SMALL
) -> None:
    """Draws a row of `moments` for each clip, from touchdown to touchdown of the first leg."""
    boxes, render = stack([_ground()]), Renderer(robot, look)
    lines = []
    for clip in several:
        scenes = [
            scene_of(robot, state_at(robot, clip, k), boxes, 0)
            for k in _over_a_cycle(clip, moments)
        ]
        line = _joined([render(scene, _beside(robot, scene)) for scene in scenes], axis=1)
        lines.append(_titled(line, title(clip)))
    save_picture(_joined(lines, axis=0), path)


def title(clip: Clip) -> str:
    return f"{clip.gait.replace('_', ' ')} {clip.command}"


def states(robot: Robot, clip: Clip) -> Iterator[State]:
    for k in range(len(clip)):
        yield state_at(robot, clip, k)


def state_at(robot: Robot, clip: Clip, k: int) -> State:
    """The k-th frame as the state of one world."""
    joints = clip.joint_pos[k] + robot.default_pose
    legs = LegPoints(robot).in_world(clip.base_pos[None, k], clip.base_quat[None, k], joints[None])
    w, u, vel = clip.base_quat[k, 0], clip.base_quat[k, 1:], clip.lin_vel_b[k]
    twice = 2 * np.cross(u, vel)
    return State(
        base_pos=_tensor(clip.base_pos[k]),
        base_quat=_tensor(clip.base_quat[k]),
        base_lin_vel=_tensor(vel + w * twice + np.cross(u, twice)),
        base_ang_vel=_tensor(clip.ang_vel_b[k]),
        joint_pos=_tensor(joints),
        joint_vel=_tensor(clip.joint_vel[k]),
        torque=torch.zeros(1, len(joints)),
        leg_pos=torch.from_numpy(legs).float(),
        force=torch.zeros(1, len(force_groups(robot)), 3),
        time=torch.full((1,), k * CONTROL_DT),
        failed=torch.zeros(1, dtype=torch.bool),
    )


def _beside(robot: Robot, scene: Scene) -> View:
    """A view from the right and a little ahead, at a fixed height, so that the bobbing of the body
    shows."""
    target = np.array([*scene.base_pos[:2], 0.75 * robot.h_des])
    away = np.array([0.35, -1.0, 0.12]) * (0.75 + 2.1 * robot.hip_to_hip)
    return View(target + away, target, fov_deg=46.0)


def _titled(picture: np.ndarray, words: str) -> np.ndarray:
    page = Image.fromarray(picture)
    font = ImageFont.load_default(size=picture.shape[0] / 11)
    ImageDraw.Draw(page).text((6, 3), words, fill=(20, 28, 40), font=font)
    # Few colours, because such pictures go into documents.
    return np.asarray(
        page.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).convert(
            "RGB"
        )
    )


def _over_a_cycle(clip: Clip, moments: int) -> list[int]:
    cycle = 1 / clip.timing.frequency_hz / CONTROL_DT  # in frames
    first = clip.timing.touchdown[0] * cycle
    return [min(round(first + k * cycle / moments), len(clip) - 1) for k in range(moments)]


def _joined(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    shape = list(parts[0].shape)
    shape[axis] = SEAM
    white = np.full(shape, 255, np.uint8)
    return np.concatenate([x for part in parts for x in (part, white)][:-1], axis)


def _ground() -> Course:
    return make("flat", 0.0, np.random.default_rng(0))


def _tensor(x: np.ndarray) -> Tensor:
    return torch.from_numpy(x).float()[None]
