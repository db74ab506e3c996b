"""Computes joint angles from foot positions, in closed form, for any `Robot`."""

import numpy as np
from numpy.typing import ArrayLike

from swap.robots.kinematics import axis_signs
from swap.robots.robot import Robot


def angles_for_feet(robot: Robot, feet_b: ArrayLike) -> np.ndarray:
    """Joint angles [..., 12] for foot centres in the base frame [..., 4, 3]; NaN for a leg that
    cannot reach its point.

    The knee bends as in the default pose, and the leg hangs below its abad axis. Joint ranges are
    not checked.
    """
    legs, turns = robot.legs, axis_signs(robot)
    offset, thigh, shank = np.array([(leg.offset, leg.thigh, leg.shank) for leg in legs]).T
    bend = np.sign([leg.joints[2].default for leg in legs] * turns[:, 2])
    x, y, z = np.moveaxis(np.asarray(feet_b, float) - [leg.mount for leg in legs], -1, 0)
    # The abad joint turns the leg's plane, which passes beside its axis at a distance `offset`.
    below = y * y + z * z - offset * offset
    down = np.sqrt(np.maximum(below, 0))  # from hip to foot within that plane
    # One arctan2 instead of a sum of two angles: mirrored points then give the exact negative.
    abad = np.arctan2(z * offset + y * down, y * offset - z * down)
    cosine = (x * x + down * down - thigh * thigh - shank * shank) / (2 * thigh * shank)
    knee = bend * np.arccos(np.clip(cosine, -1, 1))
    hip = np.arctan2(-x, down) - np.arctan2(shank * np.sin(knee), thigh + shank * np.cos(knee))
    angles = np.stack([abad, hip, knee], -1)
    reached = (below >= 0) & (np.abs(cosine) <= 1)
    angles = np.where(reached[..., None], angles * turns, np.nan)
    return angles.reshape(*angles.shape[:-2], -1)
