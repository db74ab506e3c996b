"""Sets faults of the robot, its camera and the ground, to find out what makes it fail.

Nothing here is random from one robot to the next, as it is in training: each fault is a number that
the visitor sets.
"""

from dataclasses import dataclass, replace

import torch

from swap.env import ParkourEnv
from swap.errors import UserError
from swap.sim import CONTROL_DT, nominal
from swap.validate import check_numbers

LATENCY_S = 0.5
"""The longest that can be set; the camera remembers so many poses."""


@dataclass(frozen=True)
class Faults:
    """Faults of camera, body and ground. The defaults are those of training, or the middle of their
    range."""

    holes: float = 0.05
    """Each image loses up to this share of its pixels, in a few discs."""
    darkness: float = 0.0
    """So many pixels get no light back, and read as nothing."""
    latency_s: float = 0.1
    """Age of an image when the robot reads it."""
    lost_frames: float = 0.01
    """Chance that an image never arrives and the one before is repeated."""
    payload_kg: float = 0.0
    """Mass added to the trunk."""
    friction: float = 0.9
    """Of the ground, where the course does not need more."""
    strength: float = 1.0
    """Factor on the torque that the motors are asked for."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "faults.",
            fractions=("holes", "darkness", "lost_frames"),
            not_negative=("payload_kg", "latency_s"),
            positive=("friction", "strength"),
        )
        if self.latency_s > LATENCY_S:
            raise UserError(f"faults.latency_s={self.latency_s:g}; use at most {LATENCY_S:g} s")

    def apply(self, env: ParkourEnv) -> None:
        """Applies them from now on."""
        given = nominal(env.robot, env.n)
        given.friction.fill_(self.friction)
        given.payload.fill_(self.payload_kg)
        given.strength.fill_(self.strength)
        env.engine.randomise(torch.ones(env.n, dtype=torch.bool), given)
        assert env.camera is not None, "a live world always has a camera"
        env.camera.age_steps.fill_(self.latency_s / CONTROL_DT)
        env.camera.noise.pixel_holes.fill_(self.darkness)
        env.camera.noise.cfg = replace(
            env.camera.noise.cfg, blob_holes=self.holes, dropped=self.lost_frames
        )
