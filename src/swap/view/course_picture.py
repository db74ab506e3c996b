"""Courses in, a picture out: rays cast through a pinhole, in numpy, so it runs on any machine.

The scene is lit by one sun and the sky; colour rises with height, lines are half a metre apart,
and a stand-in of a quadruped's size (hips 0.55 m high, 0.70 m apart) shows the scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from swap.courses.blocks import BEHIND_M, Block, matrix_of, slab
from swap.courses.course import Course
from swap.courses.rays import cast

FINE = 2
"""Rays a pixel along each axis: edges come out smooth."""
HALF_VIEW = np.tan(np.radians(17.0))
"""Half the image's width at distance 1: a long lens keeps heights comparable."""
MARGIN = 0.96
AZIMUTH_RAD, ELEVATION_RAD = np.radians(-35.0), np.radians(33.0)
"""The camera stands behind the start, above, and to the right, where left-high slopes face it."""
SUN = np.array([-0.45, -0.55, 0.85])
LINE_M, LINE_EVERY_M = 0.012, 0.5
SKY_TOP, SKY_LOW = np.array([0.80, 0.87, 0.94]), np.array([0.96, 0.97, 0.98])
STAND_IN = np.array([0.95, 0.62, 0.15])
TINTS = (
    (-2.0, (0.27, 0.30, 0.36)),
    (-0.6, (0.52, 0.56, 0.60)),
    (0.0, (0.86, 0.85, 0.81)),
    (0.25, (0.70, 0.82, 0.77)),
    (0.6, (0.52, 0.74, 0.72)),
    (1.3, (0.25, 0.56, 0.66)),
    (2.2, (0.22, 0.36, 0.58)),
)
"""Height above the start -> colour."""


@dataclass(frozen=True)
class Camera:
    eye: np.ndarray
    target: np.ndarray

    def raised(self, by: float) -> "Camera":
        up = np.array([0.0, 0.0, by])
        return Camera(self.eye + up, self.target + up)

    def mirror(self) -> "Camera":
        flip = np.array([1.0, -1.0, 1.0])
        return Camera(self.eye * flip, self.target * flip)

    def axes(self) -> np.ndarray:
        """Columns: right, up, forward."""
        forward = self.target - self.eye
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return np.column_stack([right, np.cross(right, forward), forward])


def frame(courses: Sequence[Course], aspect: float) -> Camera:
    """A camera that sees any of these courses, start to landing, once raised to its start_z.

    `aspect` is width over height.
    """
    corners = np.concatenate([_corners(course) for course in courses])
    low = np.cos(ELEVATION_RAD)
    back = np.array([-low * np.cos(AZIMUTH_RAD), low * np.sin(AZIMUTH_RAD), np.sin(ELEVATION_RAD)])
    room = MARGIN * HALF_VIEW * np.array([1.0, 1.0 / aspect])
    target, distance = corners.mean(0), 20.0
    for _ in range(10):  # centre what is seen, step back until it fits; settles quickly
        camera = Camera(target + distance * back, target)
        seen = (corners - target) @ camera.axes()  # right, up, forward
        screen = seen[:, :2] / (distance + seen[:, 2:])
        shift = (screen.min(0) + screen.max(0)) / 2 * distance
        target = target + camera.axes()[:, :2] @ shift
        distance *= (np.ptp(screen, axis=0) / 2 / room).max()
    return Camera(target + distance * back, target)


def _corners(course: Course) -> np.ndarray:
    """Corners of all boxes and of the stand-in, less what is far below or far away [k, 3]."""
    blocks = [*map(Block, course.pos, course.quat, course.half), *stand_in(course.start_z)]
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    corners = np.concatenate([b.pos + (signs * b.half) @ matrix_of(b.quat).T for b in blocks])
    low, high = (-BEHIND_M, -3.0, -0.7), (course.goal_x + 3.5, 3.0, 8.0)
    return np.clip(corners - [0.0, 0.0, course.start_z], low, high)


def picture(
    course: Course, camera: Camera, width: int, height: int, sun_side: int = 1
) -> np.ndarray:
    """An image [height, width, 3] uint8. Sun side -1 mirrors the light with the scene."""
    across, down = width * FINE, height * FINE
    u = (np.arange(across) + 0.5 - across / 2) / (across / 2) * HALF_VIEW
    v = (down / 2 - np.arange(down) - 0.5) / (across / 2) * HALF_VIEW
    grid = np.stack([*np.meshgrid(u, v), np.ones((down, across))], -1).reshape(-1, 3)
    ray = (grid @ camera.axes().T).astype(np.float32)
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)

    blocks = [*map(Block, course.pos, course.quat, course.half), *stand_in(course.start_z)]
    pos, quat, half = (np.stack(part) for part in zip(*blocks, strict=True))
    eye = camera.eye.astype(np.float32)[None]
    distance, box, normal = cast(pos, quat, half, eye, ray)

    fade = (v / (HALF_VIEW * down / across) + 1) / 2
    sky = SKY_LOW + (SKY_TOP - SKY_LOW) * np.clip(fade, 0, 1)[:, None]
    colour = np.repeat(sky, across, 0).astype(np.float32)  # [R, 3]
    hit = np.flatnonzero(box >= 0)
    point = eye + distance[hit, None] * ray[hit]
    sun = (SUN * [1, sun_side, 1] / np.linalg.norm(SUN)).astype(np.float32)
    skin = np.where(box[hit, None] < course.n, _tint(point, normal[hit], course.start_z), STAND_IN)
    colour[hit] = skin * _light(pos, quat, half, point, normal[hit], sun)[:, None]
    colour *= 1 - 0.45 * _outline(distance, normal, ray, (down, across)).reshape(-1, 1)
    image = colour.reshape(height, FINE, width, FINE, 3).mean((1, 3))
    return (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)


def stand_in(ground_z: float) -> list[Block]:
    """A trunk and four legs, where the robot starts."""
    hip, foot = ground_z + 0.55, ground_z
    trunk = slab((-0.45, 0.45), (-0.14, 0.14), (hip - 0.08, hip + 0.1))
    legs = [
        slab((x - 0.04, x + 0.04), (y - 0.04, y + 0.04), (foot, hip))
        for x in (-0.35, 0.35)
        for y in (-0.19, 0.19)
    ]
    return [trunk, *legs]


def _tint(point: np.ndarray, normal: np.ndarray, start_z: float) -> np.ndarray:
    level, colours = zip(*TINTS, strict=True)
    z = point[:, 2] - start_z
    tint = np.stack([np.interp(z, level, channel) for channel in zip(*colours, strict=True)], -1)
    plan = point[:, :2] / LINE_EVERY_M
    off_line = np.abs(plan - np.round(plan)).min(1) * LINE_EVERY_M
    line = (off_line < LINE_M) & (normal[:, 2] > 0.3)
    return tint * np.where(line, 0.88, 1.0)[:, None]


def _light(
    pos: np.ndarray,
    quat: np.ndarray,
    half: np.ndarray,
    point: np.ndarray,
    normal: np.ndarray,
    sun: np.ndarray,
) -> np.ndarray:
    """Sky light from above, sunlight where no box is in the way."""
    facing = np.clip(normal @ sun, 0, None)
    lit = np.flatnonzero(facing > 0)
    start = point[lit] + 2e-3 * normal[lit]
    shadow = cast(pos, quat, half, start, sun[None]).box >= 0
    facing[lit[shadow]] = 0
    return 0.50 + 0.12 * normal[:, 2] + 0.48 * facing


def _outline(
    distance: np.ndarray, normal: np.ndarray, ray: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """True where neighbours lie on different planes: boxes that share one show no seam."""
    # A plane is its normal and its offset from the eye; the sky counts as one.
    seen = np.isfinite(distance)
    offset = np.where(seen, np.where(seen, distance, 0) * np.einsum("ri,ri->r", ray, normal), 1e3)
    plane = np.column_stack([normal, offset]).reshape(*shape, 4)
    edge = np.zeros(shape, bool)
    for axis in (0, 1):
        jump = np.abs(np.diff(plane, axis=axis)).max(-1) > 0.02
        low = (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))
        high = (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))
        edge[low] |= jump
        edge[high] |= jump
    return edge
