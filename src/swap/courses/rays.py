"""Finds the first box that each ray hits, by slow but simple code, for pictures and tests."""

from typing import NamedTuple

import numpy as np

from swap.courses.blocks import matrix_of
from swap.courses.course import Course


class Hits(NamedTuple):
    distance: np.ndarray  # [R], inf where nothing is hit
    box: np.ndarray  # [R], -1 where nothing is hit
    normal: np.ndarray  # [R, 3]


def cast(
    pos: np.ndarray, quat: np.ndarray, half: np.ndarray, origin: np.ndarray, ray: np.ndarray
) -> Hits:
    """Cast rays from `origin` [R, 3] along unit vectors `ray` [R, 3] at boxes with `pos` [n, 3],
    `quat` [n, 4] and `half` [n, 3].

    One origin or one direction [1, 3] may serve all rays. A ray that starts inside a box does not
    hit that box.
    """
    count = max(len(origin), len(ray))
    distance = np.full(count, np.inf, ray.dtype)
    box = np.full(count, -1)
    normal = np.zeros((count, 3), ray.dtype)
    for k, axes in enumerate(matrix_of(quat).astype(ray.dtype)):
        # Most rays miss most boxes: test only those that hit a box's bounding sphere.
        to_box = pos[k].astype(ray.dtype) - origin
        ahead = _dot(to_box, ray)
        off_sq = _dot(to_box, to_box) - ahead * ahead
        radius_sq = half[k] @ half[k] + 0.01  # room for single precision
        near = np.flatnonzero((off_sq < radius_sq) & (ahead > -np.sqrt(radius_sq)))
        if len(near) == 0:
            continue
        local, along = (_some(part, near) @ axes for part in (-to_box, ray))
        local, along = np.broadcast_arrays(local, along)
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (-half[k] - local) / along, (half[k] - local) / along
        enter, leave = np.fmin(first, second), np.fmax(first, second)
        axis = enter.argmax(1)
        entry = enter.max(1)
        seen = (entry > 0) & (entry <= leave.min(1)) & (entry < distance[near])
        hit, axis = near[seen], axis[seen]
        distance[hit] = entry[seen]
        box[hit] = k
        normal[hit] = -np.sign(along[seen, axis])[:, None] * axes.T[axis]
    return Hits(distance, box, normal)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]


def _some(rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return rows if len(rows) == 1 else rows[chosen]


def heights(course: Course, x: np.ndarray, y: np.ndarray, above: float = 50.0) -> np.ndarray:
    """Heights of the surface at plan points, from vertical rays; -inf where there is none."""
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    origin = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, above)])
    down = np.array([[0.0, 0.0, -1.0]])
    hits = cast(course.pos, course.quat, course.half, origin, down)
    return (above - hits.distance).reshape(x.shape)
