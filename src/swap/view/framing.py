"""Finds a view that shows a whole course, from behind the start to the landing."""

from collections.abc import Sequence

import numpy as np

from swap.courses.blocks import BEHIND_M, matrix_of
from swap.view.camera import View
from swap.view.scene import Scene

FOV_DEG = 34.0
"""A long lens keeps heights comparable."""
MARGIN = 0.96
AZIMUTH_RAD, ELEVATION_RAD = np.radians(-145.0), np.radians(33.0)
"""The camera stands behind the start, above, and to the right, where left-high slopes face it."""
LANDING_M = 3.5
"""Length of the ground beyond the goal that is shown."""
ASIDE_M, DEEP_M, HIGH_M = 3.0, 0.7, 8.0
"""Limits of what is shown to the sides, below and above."""


def fit_view(scenes: Sequence[Scene], goal_x: Sequence[float], aspect: float) -> View:
    """Returns a view that fits all scenes; `aspect` is width over height."""
    points = np.concatenate([_seen(*each) for each in zip(scenes, goal_x, strict=True)])
    low = np.cos(ELEVATION_RAD)
    back = np.array([low * np.cos(AZIMUTH_RAD), low * np.sin(AZIMUTH_RAD), np.sin(ELEVATION_RAD)])
    room = MARGIN * np.tan(np.radians(FOV_DEG / 2)) * np.array([1.0, 1.0 / aspect])
    target, distance = points.mean(0), 20.0
    for _ in range(10):  # centre the points and step back until they fit; converges quickly
        axes = View(target + distance * back, target).axes()
        ahead, *across = ((points - target) @ axes).T  # and left, up
        screen = np.stack(across, 1) / (distance + ahead)[:, None]
        shift = (screen.min(0) + screen.max(0)) / 2 * distance
        target = target + axes[:, 1:] @ shift
        distance *= (np.ptp(screen, axis=0) / 2 / room).max()
    return View(target + distance * back, target, FOV_DEG)


def _seen(scene: Scene, goal_x: float) -> np.ndarray:
    """Corners of all boxes and ends of all limbs [k, 3], without what is far below or far away."""
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    boxes = zip(scene.pos, scene.quat, scene.half, strict=True)
    corners = [pos + (signs * half) @ matrix_of(quat).T for pos, quat, half in boxes]
    low, high = (-BEHIND_M, -ASIDE_M, -DEEP_M), (goal_x + LANDING_M, ASIDE_M, HIGH_M)
    return np.clip(np.concatenate([*corners, scene.start, scene.end]), low, high)
