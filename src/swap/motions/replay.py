"""Measures how long a robot stays upright, and how far it moves, when it plays clips open-loop."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from swap.courses import make
from swap.errors import UserError
from swap.motions.clip import Clip
from swap.motions.effort import targets
from swap.robots import Robot
from swap.sim import CONTROL_DT, Start, make_engine

FALLEN = 0.7
"""A robot has fallen if the vertical part of its up-axis is below this..."""
LOW = 0.6
"""...or its base is below this share of h_des."""


@dataclass(frozen=True)
class ReplayResult:
    """The result of one clip."""

    upright_s: float
    """How long the robot stayed upright."""
    moved_m: tuple[float, float]
    """Motion forward and to the left in that time."""
    turned_rad: float
    """Rotation about the vertical in that time."""


def replay(robot: Robot, several: Sequence[Clip], engine: str = "cpu") -> list[ReplayResult]:
    """Start each robot as its clip starts, then send the clip's targets; the only feedback is the
    joints' PD control."""
    if len({len(clip) for clip in several}) != 1:
        raise UserError("clips of different lengths; give one or more of one length")
    n, steps = len(several), len(several[0]) - 1
    ground = make("flat", 0.0, np.random.default_rng(0))
    sim = make_engine(engine, robot, [ground], n)
    start = _start(robot, several)
    start.base_pos[:, 2] += ground.start_z
    sim.reset(torch.ones(n, dtype=torch.bool, device=sim.device), _on(start, sim.device))
    plan = torch.from_numpy(np.stack([targets(robot, clip) for clip in several])).float()
    upright = np.ones(n, bool)
    time, moved, turned = np.zeros(n), np.zeros((n, 2)), np.zeros(n)
    yaw = np.zeros(n)
    begun = sim.state.base_pos[:, :2].cpu().numpy().copy()
    for k in range(1, steps + 1):
        sim.step(plan[:, k].to(sim.device))
        pos, quat = sim.state.base_pos.cpu().numpy(), sim.state.base_quat.cpu().numpy()
        w, x, y, z = quat.T
        upright &= (1 - 2 * (x * x + y * y) > FALLEN) & (pos[:, 2] > LOW * robot.h_des)
        step = (2 * np.arctan2(z, w) - yaw + np.pi) % (2 * np.pi) - np.pi
        yaw = yaw + step
        time = np.where(upright, k * CONTROL_DT, time)
        moved = np.where(upright[:, None], pos[:, :2] - begun, moved)
        turned = np.where(upright, yaw, turned)
    return [
        ReplayResult(float(time[i]), (float(moved[i, 0]), float(moved[i, 1])), float(turned[i]))
        for i in range(n)
    ]


def _start(robot: Robot, several: Sequence[Clip]) -> Start:
    def first(name: str) -> np.ndarray:
        return np.stack([getattr(clip, name)[0] for clip in several])

    quat, vel = first("base_quat"), first("lin_vel_b")
    w, u = quat[:, :1], quat[:, 1:]
    twice = 2 * np.cross(u, vel)
    return Start(
        base_pos=_tensor(first("base_pos")),
        base_quat=_tensor(quat),
        base_lin_vel=_tensor(vel + w * twice + np.cross(u, twice)),
        base_ang_vel=_tensor(first("ang_vel_b")),
        joint_pos=_tensor(first("joint_pos") + robot.default_pose),
        joint_vel=_tensor(first("joint_vel")),
    )


def _tensor(x: np.ndarray) -> Tensor:
    return torch.from_numpy(x).float()


def _on(start: Start, device: torch.device) -> Start:
    return Start(**{name: x.to(device) for name, x in vars(start).items()})
