"""Computes the poses of base and joints at any time, for a robot, a gait and a command.

Feet are planned in the world: a standing foot stays in place, a swinging one moves to its next
foothold. The base moves over them along an arc, and inverse kinematics gives the joint angles.
Velocities are the derivatives of exactly these poses.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from swap.motions.clip import Clip
from swap.motions.gaits import Gait
from swap.motions.sway import GRAVITY, Sway, pushes, sway_of
from swap.motions.timing import GaitCommand, GaitTiming, timing_of
from swap.robots import Robot
from swap.robots.inverse_kinematics import angles_for_feet
from swap.sim import CONTROL_DT

NUDGE_S = 1e-4
"""Velocities are central differences over this step: exact to about 1e-7 for such smooth motion."""
LIGHT = 0.3
"""If the feet together carry less than this share of the weight, they have no sideways force."""


@dataclass(frozen=True)
class Motion:
    """One gait at one command, of any duration."""

    robot: Robot
    gait: Gait
    command: GaitCommand

    @cached_property
    def timing(self) -> GaitTiming:
        return timing_of(self.robot, self.gait, self.command)

    @cached_property
    def sway(self) -> Sway:
        return sway_of(self.robot, self.gait, self.timing)

    def clip(self, seconds: float) -> Clip:
        """Frames at the control rate, the first at time zero."""
        time = np.arange(round(seconds / CONTROL_DT) + 1) * CONTROL_DT
        pos, rot, joints = self.at(time)
        before, after = self.at(time - NUDGE_S), self.at(time + NUDGE_S)
        slope = 1 / (2 * NUDGE_S)
        vel_w = (after[0] - before[0]) * slope
        # To first order the antisymmetric part of the rotation between the two is ω.
        turn = np.swapaxes(before[1], -1, -2) @ after[1]
        spin = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], -1)
        spin -= np.stack([turn[:, 1, 2], turn[:, 2, 0], turn[:, 0, 1]], -1)
        return Clip(
            gait=self.gait.name,
            command=self.command,
            timing=self.timing,
            base_pos=pos,
            base_quat=self._quat(time),
            lin_vel_b=np.einsum("tji,tj->ti", rot, vel_w),
            ang_vel_b=spin / 2 * slope,
            joint_pos=joints - self.robot.default_pose,
            joint_vel=(after[2] - before[2]) * slope,
            stands=self._phase(time)[0] < self.timing.duty,
            push_b=np.einsum("tji,tlj->tli", rot, self.pushes(time)),
        )

    def at(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Base position [T, 3], its rotation [T, 3, 3], joint angles [T, 12]."""
        pos, rot = self._base(time_s)
        feet = self.feet(time_s) - pos[:, None]
        return pos, rot, angles_for_feet(self.robot, np.einsum("tji,tlj->tli", rot, feet))

    # --- the base -------------------------------------------------------------------------------
    def _base(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ahead, left, up, pitch, roll = self.sway(time_s)
        pos, yaw = self._path(time_s)
        # Lean into the turn as far as the centrifugal force would tip the body.
        lean = self.robot.h_des / GRAVITY * self.command.turn_rps
        ahead, left = ahead - lean * self.command.left_mps, left + lean * self.command.forward_mps
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        cr, sr = np.cos(roll), np.sin(roll)
        pos = pos + np.stack(
            [cy * ahead - sy * left, sy * ahead + cy * left, self.robot.h_des + up], -1
        )
        rows = (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
        return pos, np.stack([np.stack(row, -1) for row in rows], -2)

    def _quat(self, time_s: np.ndarray) -> np.ndarray:
        """The same rotation [T, 4], (w, x, y, z)."""
        pitch, roll = self.sway(time_s)[3:] / 2
        yaw = self._path(time_s)[1] / 2
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        cr, sr = np.cos(roll), np.sin(roll)
        w, x = cy * cp * cr + sy * sp * sr, cy * cp * sr - sy * sp * cr
        return np.stack([w, x, cy * sp * cr + sy * cp * sr, sy * cp * cr - cy * sp * sr], -1)

    def _path(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The base's path on the ground, an arc: points [..., 3] and headings [...]."""
        c, yaw = self.command, self.command.turn_rps * time_s
        if c.turn_rps:
            ahead, aside = np.sin(yaw) / c.turn_rps, (1 - np.cos(yaw)) / c.turn_rps
        else:
            ahead, aside = time_s, np.zeros_like(time_s)
        x = c.forward_mps * ahead - c.left_mps * aside
        y = c.left_mps * ahead + c.forward_mps * aside
        return np.stack([x, y, np.zeros_like(x)], -1), yaw

    def pushes(self, time_s: np.ndarray) -> np.ndarray:
        """Ground forces on the feet that the motion of the base needs [T, 4, 3], N.

        The feet share the sideways force as they share the weight; it is zero while they carry
        little weight (LIGHT).
        """
        c, yaw = self.command, self._path(time_s)[1]
        ahead, left = self.sway.acceleration(time_s)[:2]
        ahead, left = ahead - c.turn_rps * c.left_mps, left + c.turn_rps * c.forward_mps
        up = pushes(self.timing, self.timing.frequency_hz * time_s)  # [4, T] in weights
        total = up.sum(0)
        slope = np.where(total > LIGHT, 1 / np.maximum(total, LIGHT), 0) / GRAVITY
        along = np.stack(
            [
                slope * (np.cos(yaw) * ahead - np.sin(yaw) * left),
                slope * (np.sin(yaw) * ahead + np.cos(yaw) * left),
                np.ones_like(yaw),
            ],
            -1,
        )
        return self.robot.mass * GRAVITY * up.T[..., None] * along[:, None]

    # --- the feet -------------------------------------------------------------------------------
    def feet(self, time_s: np.ndarray) -> np.ndarray:
        """Foot centres in the world [T, 4, 3]."""
        if self.gait.stands:
            return np.broadcast_to(self.timing.foothold, (len(time_s), 4, 3))
        phase, step = self._phase(time_s)
        swung = np.clip((phase - self.timing.duty) / (1 - self.timing.duty), 0, 1)[..., None]
        gone = swung**3 * (10 - 15 * swung + 6 * swung**2)  # starts and lands at rest
        here, there = self._foothold(step), self._foothold(step + 1)
        feet = here + gone * (there - here)
        feet[..., 2] += self.timing.lift_m * 64 * (swung * (1 - swung))[..., 0] ** 3
        return feet

    def _phase(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each foot [T, 4]: the share of its cycle since touchdown, and its step's number."""
        cycles = self.timing.frequency_hz * time_s[:, None] - self.timing.touchdown
        step = np.floor(cycles)
        return cycles - step, step

    def _foothold(self, step: np.ndarray) -> np.ndarray:
        """The foothold of each foot in its n-th step [T, 4, 3]: below its place at mid-stance."""
        timing = self.timing
        middle = (step + timing.touchdown + timing.duty / 2) / timing.frequency_hz
        point, yaw = self._path(middle)
        x, y, z = timing.foothold.T
        c, s = np.cos(yaw), np.sin(yaw)
        return point + np.stack([c * x - s * y, s * x + c * y, np.broadcast_to(z, c.shape)], -1)
