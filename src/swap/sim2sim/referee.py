"""Decides when a trial is over and how, from what is true in the simulation.

The rules are those of `swap eval` (`swap.env.terminations`), written anew for one robot in numpy.
"""

import numpy as np
import torch

from swap.courses import HOLD_S, Course, fallen, goals, reached
from swap.courses.rays import cast
from swap.deploy.observations import gravity_of, heading_of
from swap.sim2sim.body import SimulatedRobot
from swap.sim2sim.cfg import SUCCESS

EVERY_S = 0.02
BLOW_S = 0.005
"""A blow is what the trunk feels on average for so long, one physics step of training: the force of
a single millisecond is many times higher."""
STALL_S, STALL_M = 2.0, 0.1
TILT_Z, TILT_FLAT_Z = 0.3, -0.3
TOUCH_N, HARD = 1.0, 3.0
LEVEL_M = 0.04
AROUND = np.stack(np.meshgrid(np.arange(-8, 9) / 10, np.arange(-5, 6) / 10, indexing="ij"), -1)
"""Points around the base that must be level for the ground to be flat, m."""


class Referee:
    """Look every `EVERY_S`; `begin` when the robot is told to go."""

    def __init__(self, body: SimulatedRobot, course: Course, time_s: float) -> None:
        self._body, self._course, self._limit_s = body, course, time_s
        self._goals = goals([course])
        self._hard_n = HARD * body.robot.mass * 9.81
        self._began_s: float | None = None
        self._held_s = self._stalled_s = 0.0
        self._disturbances: list[np.ndarray] = []
        self.far_m = self._mark_m = float(body.data.qpos[0])

    @property
    def time_s(self) -> float:
        return 0.0 if self._began_s is None else float(self._body.data.time) - self._began_s

    def begin(self) -> None:
        if self._began_s is None:
            self._began_s = float(self._body.data.time)

    def feel(self) -> None:
        """Every physics step of the last `BLOW_S` before a look."""
        self._disturbances.append(self._body.trunk_force())

    def look(self) -> str | None:
        """How it has ended, or None."""
        body, base = self._body, self._body.data.qpos[:3]
        if body.diverged:
            return "diverged"
        if self._began_s is None:
            return None
        self.far_m = max(self.far_m, float(base[0]))
        gravity = gravity_of(body.data.qpos[3:7])
        place = torch.tensor(base[None], dtype=torch.float32)
        if bool(fallen(place)):
            return "fallen"
        force = float(np.linalg.norm(np.mean(self._disturbances, 0))) if self._disturbances else 0.0
        self._disturbances.clear()
        tilt = float(gravity[2])
        if tilt > TILT_Z or (tilt > TILT_FLAT_Z and self._flat()):
            return "upside down"
        if force > self._hard_n or (force > TOUCH_N and self._flat()):
            return "trunk"
        if abs(base[1]) > self._course.lane:
            return "off lane"
        feet = torch.tensor(body.feet()[None], dtype=torch.float32)
        upright = torch.tensor([tilt], dtype=torch.float32)
        there = bool(reached(self._goals, place, upright, feet))
        self._held_s = self._held_s + EVERY_S if there else 0.0
        if self._held_s >= HOLD_S - EVERY_S / 2:
            return SUCCESS
        if base[0] > self._mark_m + STALL_M:
            self._mark_m, self._stalled_s = float(base[0]), 0.0
        else:
            self._stalled_s += EVERY_S
        if self._stalled_s >= STALL_S - EVERY_S / 2:
            return "stalled"
        return "time" if self.time_s >= self._limit_s else None

    def _flat(self) -> bool:
        """The ground all around differs by less than LEVEL_M."""
        qpos, course = self._body.data.qpos, self._course
        turn = heading_of(qpos[3:7])
        c, s = np.cos(turn), np.sin(turn)
        points = AROUND.reshape(-1, 2) @ np.array([[c, s], [-s, c]]) + qpos[:2]
        origin = np.column_stack([points, np.full(len(points), 10.0)])
        down = np.array([[0.0, 0.0, -1.0]])
        below = cast(course.pos, course.quat, course.half, origin, down).distance
        return bool(below.max() - below.min() < LEVEL_M)
