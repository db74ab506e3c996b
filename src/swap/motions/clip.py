"""Defines a motion clip: frames at the control rate, and their mirror image."""

from dataclasses import dataclass, replace

import numpy as np

from swap.motions.gaits import MIRRORED
from swap.motions.timing import GaitCommand, GaitTiming
from swap.robots import Robot
from swap.sim import CONTROL_DT
from swap.symmetry import ROTATION, VECTOR, Rep, signs

QUATERNION = signs(1, -1, 1, -1)
"""How (w, x, y, z) mirrors: rotations about x and z change sign."""


@dataclass(frozen=True)
class Clip:
    """T frames of one gait at one command."""

    gait: str
    command: GaitCommand
    timing: GaitTiming
    base_pos: np.ndarray  # [T, 3] world, m
    base_quat: np.ndarray  # [T, 4] (w, x, y, z), body to world
    lin_vel_b: np.ndarray  # [T, 3] body, m/s
    ang_vel_b: np.ndarray  # [T, 3] body, rad/s
    joint_pos: np.ndarray  # [T, 12] from the default pose, rad
    joint_vel: np.ndarray  # [T, 12] rad/s
    stands: np.ndarray  # [T, 4] bool: this foot is on the ground
    push_b: np.ndarray  # [T, 4, 3] body, N: the planned force of the ground on each foot

    def __len__(self) -> int:
        return len(self.base_pos)

    @property
    def seconds(self) -> float:
        return (len(self) - 1) * CONTROL_DT

    def mirrored(self, robot: Robot) -> "Clip":
        """The mirror image: left and right trade places."""
        legs, joints = robot.body.leg_rep, robot.body.joint_rep
        order = list(legs.perm)
        timing = replace(self.timing, touchdown=self.timing.touchdown[order])
        return Clip(
            gait=MIRRORED.get(self.gait, self.gait),
            command=self.command.mirrored(),
            timing=timing,
            base_pos=_mirror(VECTOR, self.base_pos),
            base_quat=_mirror(QUATERNION, self.base_quat),
            lin_vel_b=_mirror(VECTOR, self.lin_vel_b),
            ang_vel_b=_mirror(ROTATION, self.ang_vel_b),
            joint_pos=_mirror(joints, self.joint_pos),
            joint_vel=_mirror(joints, self.joint_vel),
            stands=self.stands[:, order],
            push_b=_mirror(VECTOR, self.push_b[:, order]),
        )


def _mirror(rep: Rep, x: np.ndarray) -> np.ndarray:
    return x[..., list(rep.perm)] * np.array(rep.sign)
