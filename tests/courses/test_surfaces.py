"""Measures the obstacles' surfaces with rays, instead of reading the code's own numbers."""

from math import radians, tan

import numpy as np
import pytest

from swap.courses import FAMILIES, make, size_of
from swap.courses.rays import cast, heights
from swap.courses.success import FALLEN_Z

PITS = ("gap", "tilted_gap", "stepping_stones", "gap_to_slope")
EPS = 1e-6
SLOPE_M = 2.0
DIFFICULTIES = (0.0, 0.4, 1.0)
each = pytest.mark.parametrize("difficulty", DIFFICULTIES)


def course(name, difficulty, seed=0):
    return make(name, difficulty, np.random.default_rng(seed))


def tilt(difficulty):
    return tan(radians(5 + 15 * difficulty))


def runs(course, y, step=1e-3, end=None):
    """Stretches of equal height (tilt removed) along a line: [(height, length), ...]."""
    x = np.arange(-1.0, end or course.goal_x + 2.0, step)
    z = np.round(heights(course, x, y) - y * course.goal_tilt, 6)
    cuts = np.flatnonzero(np.diff(z)) + 1
    return [(float(part[0]), len(part) * step) for part in np.split(z, cuts)]


@each
@pytest.mark.parametrize("name", ["box", "tilted_box"])
def test_box_top_is_its_size_on_the_midline(name, difficulty):
    it = course(name, difficulty)
    before, after = heights(it, [it.goal_x - EPS, it.goal_x + EPS], 0.0)
    assert before == 0.0
    assert after == pytest.approx(size_of(name, difficulty))
    assert heights(it, it.goal_x + 2.9, 0.0) == pytest.approx(it.size)  # no drop behind


@each
def test_tilted_box_is_high_on_the_left(difficulty):
    it = course("tilted_box", difficulty)
    left, right = heights(it, it.goal_x + 0.5, np.array([0.5, -0.5]))
    assert left - right == pytest.approx(tilt(difficulty))
    assert it.goal_tilt == pytest.approx(tilt(difficulty))


@each
@pytest.mark.parametrize("name", ["box", "tilted_box"])
def test_a_box_closes_the_lane_down_to_the_ground(name, difficulty):
    it = course(name, difficulty)
    y = np.linspace(-it.lane, it.lane, 101)
    origin = np.column_stack([np.zeros(101), y, np.full(101, 1e-3)])
    hits = cast(it.pos, it.quat, it.half, origin, np.array([[1.0, 0.0, 0.0]]))
    assert hits.distance == pytest.approx(it.goal_x)


@each
@pytest.mark.parametrize("name", ["gap", "tilted_gap"])
@pytest.mark.parametrize("y", [-0.9, 0.0, 0.9])
def test_gap_is_as_wide_as_its_size_all_across(name, difficulty, y):
    it = course(name, difficulty)
    edge, far = it.goal_x - size_of(name, difficulty), it.goal_x
    bank, hole, hole_too, far_bank = heights(
        it, np.array([edge - EPS, edge + EPS, far - EPS, far + EPS]), y
    )
    assert bank == pytest.approx(y * it.goal_tilt)
    assert far_bank == pytest.approx(y * it.goal_tilt)
    assert hole == hole_too == -2.0
    assert it.goal_tilt == pytest.approx(tilt(difficulty) if name == "tilted_gap" else 0.0)


@each
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("y", [-0.9, 0.0, 0.9])
def test_a_landing_slopes_all_across_from_the_far_edge_to_level_ground(difficulty, seed, y):
    it = course("gap_to_slope", difficulty, seed)
    far = it.goal_x - SLOPE_M
    edge = far - size_of("gap_to_slope", difficulty)
    assert heights(it, np.array([-1.0, edge - EPS]), y) == pytest.approx(it.start_z)
    assert heights(it, edge + EPS, y) == -2.0
    lean = 0.14  # a wall leans out by so much where its bank slopes down
    if edge < far - lean:
        assert heights(it, far - lean, y) == -2.0
    rise = it.goal_z - it.start_z
    assert abs(rise) == pytest.approx(SLOPE_M * tan(radians(5 + 10 * difficulty)))
    along = np.linspace(EPS, SLOPE_M, 50)
    assert heights(it, far + along, y) == pytest.approx(it.start_z + along / SLOPE_M * rise)
    assert min(it.start_z, it.goal_z) == pytest.approx(0.0)


def test_landings_slope_both_ways():
    ways = [course("gap_to_slope", 0.5, seed) for seed in range(40)]
    assert 10 < sum(it.goal_z > it.start_z for it in ways) < 30


@each
@pytest.mark.parametrize("y", [-1.9, 0.0, 1.9])
def test_a_platform_is_its_size_high_on_both_sides(difficulty, y):
    it = course("platform", difficulty)
    found = runs(it, y)
    size = size_of("platform", difficulty)
    assert [height for height, _ in found] == pytest.approx([0.0, size, 0.0])
    assert 2.0 <= found[1][1] <= 3.0
    assert heights(it, it.goal_x - EPS, y) == pytest.approx(size)
    assert heights(it, it.goal_x + EPS, y) == 0.0


@pytest.mark.parametrize("name", PITS)
def test_a_pit_has_no_way_round(name):
    it = course(name, 1.0)
    far = it.goal_x - (SLOPE_M if name == "gap_to_slope" else 0.0)
    y = np.linspace(it.lane + 0.01, it.lane + 1.5, 20)
    wide = heights(it, far - 0.1, np.concatenate([-y, y]))
    assert (wide == -2.0).all()
    assert (heights(it, far - 0.1, np.linspace(-it.lane, it.lane, 20)) < 0.1).all()
    if name in ("gap", "gap_to_slope"):
        assert (heights(it, np.linspace(-1.0, it.goal_x + 2, 50)[:, None], y) == -2.0).all()


@each
@pytest.mark.parametrize("name", ["stairs", "tilted_stairs"])
@pytest.mark.parametrize("y", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_steps_are_their_size_up_and_down(name, difficulty, y, seed):
    it = course(name, difficulty, seed)
    found = [run for run in runs(it, y) if run[1] > 0.02]  # the twist's ramps are no runs
    levels = np.array([height for height, _ in found])
    levels = levels[np.flatnonzero(levels == 0.0)[0] :]  # a level start is no step of a tilt
    count = len(levels) // 2
    assert 4 <= count <= 6
    steps = np.concatenate([np.arange(count + 1), np.arange(count)[::-1]])
    assert levels == pytest.approx(steps * size_of(name, difficulty), abs=1e-6)
    treads = [length for _, length in found[-count * 2 : -1] if length < 0.5]
    assert len(treads) == 2 * (count - 1)
    assert min(treads) > 0.298
    assert max(treads) < 0.342


@each
def test_slope_has_its_angle_and_neither_gap_nor_lip(difficulty):
    it = course("lateral_slope", difficulty)
    slope = tan(radians(size_of("lateral_slope", difficulty)))
    x = np.arange(-1.5, it.goal_x + 2.5, 0.01)
    y = np.linspace(-it.lane, it.lane, 81)
    z = heights(it, x[:, None], y)
    middle = z[np.searchsorted(x, it.goal_x - 2.9)]  # past the way in, before the way out
    assert middle - it.start_z == pytest.approx(y * slope, abs=1e-9)
    assert np.abs(z[:, 40] - it.start_z).max() < 1e-9  # the midline is level all along
    # Along x it is nowhere steeper than the transition, 1 / 2.5 of the slope; across, the slope.
    assert np.abs(np.diff(z, axis=0)).max() <= 0.01 * slope / 2.5 + 1e-9
    assert np.abs(np.diff(z, axis=1)).max() <= (y[1] - y[0]) * slope + 1e-9
    assert z.min() == pytest.approx(0.0, abs=1e-9)


@each
@pytest.mark.parametrize("name", ["tilted_gap", "tilted_stairs"])
def test_the_way_into_a_tilt_has_neither_gap_nor_lip(name, difficulty):
    it = course(name, difficulty)
    x, y = np.arange(-1.5, 3.5, 0.01), np.linspace(-1.2, 1.2, 81)
    z = heights(it, x[:, None], y)
    assert z[0] == pytest.approx(0.0)
    assert z[-1] == pytest.approx(y * tilt(difficulty))
    assert np.abs(np.diff(z, axis=0)).max() <= 0.01 * tilt(difficulty) / 2 + 1e-9
    assert np.abs(np.diff(z, axis=1)).max() <= (y[1] - y[0]) * tilt(difficulty) + 1e-9


@each
@pytest.mark.parametrize("seed", range(5))
def test_rocks_reach_their_size_and_leave_no_free_path(difficulty, seed):
    it = course("rocks", difficulty, seed)
    size = size_of("rocks", difficulty)
    x, y = np.arange(it.goal_x - 3.8, it.goal_x, 0.01), np.linspace(-it.lane, it.lane, 61)
    z = heights(it, x[:, None], y)
    assert z.max() <= size + 1e-9
    assert (z.max(0) > 0.1 * size).all()  # each straight path meets a rock
    assert (np.diff((z > 0.05 * size).astype(int), axis=0) == 1).sum(0).min() >= 1
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    corners = [
        p[2] + (signs * h) @ axes[2]
        for p, h, axes in zip(it.pos, it.half, _matrices(it.quat), strict=True)
    ]
    assert np.max(corners) == pytest.approx(size)


def _matrices(quat):
    """Rotation matrices computed by rotating unit vectors: v + 2 u x (u x v + w v)."""
    unit = np.eye(3)
    turned = [[v + 2 * np.cross(q[1:], np.cross(q[1:], v) + q[0] * v) for v in unit] for q in quat]
    return np.swapaxes(np.array(turned), 1, 2)


@each
@pytest.mark.parametrize("side", [-1, 1])
def test_stones_stand_their_size_apart(difficulty, side):
    it = course("stepping_stones", difficulty)
    found = runs(it, 0.26 * side)
    assert [height for height, _ in found[::2]] == [0.0] * len(found[::2])
    gaps = [length for height, length in found if height == -2.0]
    stones = [length for _, length in found[2:-2:2]]
    assert len(stones) >= 3
    assert gaps[:-1] == pytest.approx(
        [size_of("stepping_stones", difficulty)] * (len(gaps) - 1), abs=2e-3
    )
    assert gaps[-1] <= it.size + 2e-3  # the last may be shorter: rows differ in length
    assert min(stones) > 0.298
    assert max(stones[:-1]) < 0.402


@each
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_ground_is_under_the_whole_lane_and_pits_are_deep(name, difficulty, seed):
    it = course(name, difficulty, seed)
    side = min(it.lane, 3.0) - 1e-3
    z = heights(it, np.arange(-1.9, it.goal_x + 2.9, 0.02)[:, None], np.linspace(-side, side, 41))
    low = z[z < FALLEN_Z + 0.3]
    if name in PITS:
        assert low.size > 0
        assert (low == -2.0).all()
    else:
        assert low.size == 0


@each
@pytest.mark.parametrize("name", FAMILIES)
def test_the_start_is_level(name, difficulty):
    it = course(name, difficulty)
    x, y = np.linspace(-1, 0.6, 9), np.linspace(-0.4, 0.4, 9)
    assert heights(it, x[:, None], y) == pytest.approx(it.start_z)


@each
@pytest.mark.parametrize("name", FAMILIES)
def test_the_far_support_is_where_the_course_says(name, difficulty):
    it = course(name, difficulty)
    x, y = np.linspace(it.goal_x + EPS, it.goal_x + 2.9, 30), np.linspace(-0.4, 0.4, 9)
    support = it.goal_z + y * it.goal_tilt
    assert np.abs(heights(it, x[:, None], y) - support).max() < 1e-9
