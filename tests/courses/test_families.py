import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swap.courses import FAMILIES, SLOTS, CourseFamily, difficulty_of, make, register, size_of
from swap.errors import UserError

RANGES = {
    "flat": (0.0, 0.0, "m"),
    "box": (0.05, 1.9, "m"),
    "gap": (0.05, 3.0, "m"),
    "stairs": (0.05, 0.23, "m"),
    "lateral_slope": (5.0, 60.0, "deg"),
    "rocks": (0.05, 0.25, "m"),
    "tilted_box": (0.15, 1.9, "m"),
    "tilted_stairs": (0.05, 0.23, "m"),
    "tilted_gap": (0.05, 3.0, "m"),
    "stepping_stones": (0.1, 0.5, "m"),
    "platform": (0.05, 1.5, "m"),
    "gap_to_slope": (0.05, 3.0, "m"),
}
LIMITS = {"box": 2.2, "gap": 3.6}
names = st.sampled_from(list(RANGES))
difficulties = st.floats(0, 1)


def arrays(course):
    return np.concatenate([course.pos, course.quat, course.half], 1)


def test_the_families_and_their_ranges():
    found = {f.name: (f.size.low, f.size.high, f.size.unit) for f in FAMILIES.values()}
    assert found == RANGES


@given(names, difficulties)
def test_difficulty_is_linear_in_size(name, difficulty):
    low, high, _ = RANGES[name]
    size = size_of(name, difficulty)
    assert size == pytest.approx(low + difficulty * (high - low), abs=1e-12)
    assert make(name, difficulty, np.random.default_rng(0)).size == size
    back = difficulty_of(name, size)
    assert back == pytest.approx(difficulty if low < high else 0.0, abs=1e-12)


@given(names, difficulties, st.integers(0, 2**32))
def test_every_course_fits_its_slots_and_is_well_formed(name, difficulty, seed):
    course = make(name, difficulty, np.random.default_rng(seed))
    assert course.n <= SLOTS
    assert np.isfinite(arrays(course)).all()
    assert (course.half > 0.01).all()
    assert np.linalg.norm(course.quat, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert course.goal_x > 2.0
    assert course.lane > 0.9


@pytest.mark.parametrize("name", RANGES)
def test_same_seed_same_course_other_seed_other_course(name):
    one, same, other = (make(name, 0.5, np.random.default_rng(s)) for s in (3, 3, 4))
    assert np.array_equal(arrays(one), arrays(same))
    if name != "flat":
        assert not np.array_equal(arrays(one), arrays(other))
    assert one.size == other.size


@pytest.mark.parametrize(("angle", "friction"), [(30, 0.722), (40, 1.049), (50, 1.490), (60, 1.9)])
def test_steep_slopes_grip(angle, friction):
    course = make("lateral_slope", difficulty_of("lateral_slope", angle), np.random.default_rng(0))
    assert course.friction == pytest.approx(friction, abs=1e-3)


def test_unknown_family_names_close_ones():
    with pytest.raises(UserError, match=r"^unknown course family 'stair'; did you mean 'stairs'"):
        make("stair", 0.5, np.random.default_rng(0))


@pytest.mark.parametrize("difficulty", [-0.01, 1.17, float("nan"), float("inf")])
def test_difficulty_outside_its_range_is_refused(difficulty):
    says = r"outside \[0, 1.162\]; 0 is 0.05 m, 1 is 1.9 m; 1.162 is 2.2 m$"
    with pytest.raises(UserError, match=says):
        make("box", difficulty, np.random.default_rng(0))


@pytest.mark.parametrize("difficulty", [-0.01, 1.01, float("nan"), float("inf")])
def test_most_families_end_at_1(difficulty):
    with pytest.raises(UserError, match=r"outside \[0, 1\]; 0 is 0.05 m, 1 is 0.23 m$"):
        make("stairs", difficulty, np.random.default_rng(0))


@pytest.mark.parametrize("size", [0.04, 2.21, float("nan")])
def test_size_outside_its_range_is_refused(size):
    with pytest.raises(UserError, match=r"'box' comes in 0.05 to 2.2 m"):
        difficulty_of("box", size)


@given(st.sampled_from(["box", "gap"]), st.floats(0, 1))
def test_boxes_and_gaps_can_be_built_beyond_their_range(name, share):
    low, high, _ = RANGES[name]
    size = high + share * (LIMITS[name] - high)
    course = make(name, difficulty_of(name, size), np.random.default_rng(0))
    assert course.size == pytest.approx(size, abs=1e-12)
    assert course.difficulty == pytest.approx((size - low) / (high - low))
    assert FAMILIES[name].max_size == LIMITS[name]
    assert size_of(name, FAMILIES[name].max_difficulty) == pytest.approx(LIMITS[name], abs=1e-12)


def test_a_limit_lies_beyond_a_range():
    box = FAMILIES["box"]
    for limit in (1.0, float("nan")):
        with pytest.raises(UserError, match="give a range, and a limit not below it"):
            CourseFamily("low", box.size, box.about, box.origin, box.build, limit)


def test_a_name_is_taken_once():
    box = FAMILIES["box"]
    with pytest.raises(UserError, match="'box' exists already"):
        register(CourseFamily("box", box.size, box.about, box.origin, box.build))
    assert FAMILIES["box"] is box
