"""Moves the film's camera, which follows the robot."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from swap.courses.rays import cast
from swap.errors import UserError
from swap.robots import Robot
from swap.view.scene import Scene

SNAP_M = 2.0
"""A robot that moves further than this between two frames was reset: the camera cuts instead of
panning."""
BELOW_M = 0.2
"""The middle of the picture is this far below the base, so that the feet are in it."""
CLEAR_M = 0.3
"""Boxes this near to the robot's centre are what it stands on or climbs, and hide nothing."""
AHEAD_M, ABOVE_M = np.linspace(0.4, 2.4, 6), 5.0
"""The obstacle is looked for under these points, in front of the robot and above it."""
STEEPEST_RAD = math.radians(75.0)


@dataclass(frozen=True)
class View:
    """Where a picture is taken from."""

    eye: np.ndarray
    target: np.ndarray
    fov_deg: float = 48.0
    """Horizontal, edge to edge."""

    def axes(self) -> np.ndarray:
        """Columns: ahead, left, up."""
        ahead = (self.target - self.eye) / np.linalg.norm(self.target - self.eye)
        left = np.cross([0.0, 0.0, 1.0], ahead)
        left /= np.linalg.norm(left)
        return np.column_stack([ahead, left, np.cross(ahead, left)])

    def mirror(self) -> "View":
        """From the other side of the plane y = 0."""
        flip = np.array([1.0, -1.0, 1.0])
        return View(self.eye * flip, self.target * flip, self.fov_deg)


class FilmCamera(Protocol):
    """Turns one scene after the other, `dt_s` apart, into views."""

    def __call__(self, scene: Scene, dt_s: float) -> View: ...


@dataclass(frozen=True)
class ChaseCameraCfg:
    """A camera behind the robot, to its right and above, which looks past its nose at what lies
    ahead."""

    distance_m: float = 3.6
    azimuth_deg: float = -118.0
    """Where the camera stands, seen from the robot: 0 is ahead (+x), -90 right, 180 behind."""
    elevation_deg: float = 17.0
    ahead_m: float = 0.45
    """The middle of the picture is this far in front of the base."""
    lag_s: float = 0.25
    """The camera closes 63 % of its distance to the ideal place in this time."""
    lag_up_s: float = 0.5
    """The same for heights: slower, or every step would shake the picture."""

    @classmethod
    def of(cls, robot: Robot) -> "ChaseCameraCfg":
        """The config for a robot: nearer to a smaller one, but not in proportion, because obstacles
        stay as large."""
        return cls(distance_m=1.8 + 2.6 * robot.hip_to_hip, ahead_m=0.65 * robot.hip_to_hip)

    def __post_init__(self) -> None:
        if not self.distance_m > 0.5:
            raise UserError(f"distance_m={self.distance_m} is inside the robot; use 2 or more")
        if not -75.0 < self.elevation_deg < 75.0:
            raise UserError(f"elevation_deg={self.elevation_deg} is too steep; use -75..75")
        if min(self.lag_s, self.lag_up_s) < 0:
            raise UserError("lags are seconds; use 0 or more")


class ChaseCamera:
    """Follows the robot smoothly. The direction is fixed in the world: a wobbling robot on a still
    course is easier to watch than a wobbling course."""

    def __init__(self, cfg: ChaseCameraCfg | None = None) -> None:
        self.cfg = cfg or ChaseCameraCfg()
        self._place: np.ndarray | None = None  # target (3), elevation, rise of the obstacle

    def __call__(self, scene: Scene, dt_s: float) -> View:
        cfg = self.cfg
        rise = self._rise(scene)
        target = scene.base_pos + np.array([cfg.ahead_m, 0.0, -BELOW_M])
        goal = np.array([*target, 0.0, rise])
        goal[3] = self._clear(scene, goal)
        if self._place is None or np.linalg.norm(target - self._place[:3]) > SNAP_M:
            self._place = goal
        slow = cfg.lag_up_s
        lag = np.maximum([cfg.lag_s, cfg.lag_s, slow, slow, slow], 1e-9)
        self._place = self._place + (1.0 - np.exp(-dt_s / lag)) * (goal - self._place)
        return self._view(self._place)

    def _view(self, place: np.ndarray) -> View:
        """A high obstacle is seen from further away, with the robot lower in the picture."""
        elevation, rise = place[3:]
        target = place[:3] + np.array([0.0, 0.0, 0.35 * rise])
        return View(target + (self.cfg.distance_m + 1.3 * rise) * self._back(elevation), target)

    def _rise(self, scene: Scene) -> float:
        """How far the ground ahead rises above the base, m."""
        ahead = scene.base_pos + np.outer(AHEAD_M, [1.0, 0.0, 0.0]) + [0.0, 0.0, ABOVE_M]
        hits = cast(scene.pos, scene.quat, scene.half, ahead, np.array([[0.0, 0.0, -1.0]]))
        return float(np.clip(ABOVE_M - hits.distance, 0.0, 2.0).max())

    def _back(self, elevation: float) -> np.ndarray:
        azimuth, low = math.radians(self.cfg.azimuth_deg), math.cos(elevation)
        return np.array([low * math.cos(azimuth), low * math.sin(azimuth), math.sin(elevation)])

    def _clear(self, scene: Scene, place: np.ndarray) -> float:
        """The lowest elevation from which no box hides the robot."""
        steps = np.linspace(math.radians(self.cfg.elevation_deg), STEEPEST_RAD, 12)
        eyes = np.stack([self._view(np.array([*place[:3], e, place[4]])).eye for e in steps])
        ray = eyes - scene.base_pos
        far = np.linalg.norm(ray, axis=1)
        ray /= far[:, None]
        # From the robot to the eye, so that a camera inside a box counts as hidden too.
        origin = scene.base_pos + CLEAR_M * ray
        hits = cast(scene.pos, scene.quat, scene.half, origin, ray)
        free = np.flatnonzero(hits.distance + CLEAR_M > far)
        return float(steps[free[0]] if len(free) else steps[0])
