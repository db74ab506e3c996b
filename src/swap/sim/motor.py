"""Computes motor torques: PD control through a motor's torque-speed curve.

Driving torque (in the direction of motion) falls linearly to zero at the no-load speed; full torque
is always available for braking. A motor's randomised strength scales the commanded torque before it
is limited: a weak motor pushes less, and no motor exceeds its peak.
"""

from typing import TypeVar

import numpy as np
import torch
import warp as wp

Array = TypeVar("Array", np.ndarray, torch.Tensor)


def motor_torque(
    target: Array,
    pos: Array,
    vel: Array,
    kp: Array,
    kd: Array,
    strength: Array,
    peak: Array,
    no_load: Array,
) -> Array:
    """The formula in numpy or torch, any matching shapes."""
    wish = strength * (kp * (target - pos) - kd * vel)
    share = vel / no_load
    upper = peak * (1 - share).clip(0, 1)
    lower = -peak * (1 + share).clip(0, 1)
    return wish.clip(lower, upper)


@wp.func
def motor_torque_wp(
    target: float,
    pos: float,
    vel: float,
    kp: float,
    kd: float,
    strength: float,
    peak: float,
    no_load: float,
) -> float:
    """The same formula for one joint of one world."""
    wish = strength * (kp * (target - pos) - kd * vel)
    upper = peak * wp.clamp(1.0 - vel / no_load, 0.0, 1.0)
    lower = -peak * wp.clamp(1.0 + vel / no_load, 0.0, 1.0)
    return wp.clamp(wish, lower, upper)
