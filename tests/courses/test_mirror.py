import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from swap.courses import FAMILIES, make, stack
from swap.courses.course import PARKED_Z
from swap.courses.rays import heights
from swap.errors import UserError


def course(name, difficulty=0.7, seed=0):
    return make(name, difficulty, np.random.default_rng(seed))


@given(st.sampled_from(list(FAMILIES)), st.floats(0, 1), st.integers(0, 1000))
def test_mirroring_twice_changes_no_bit(name, difficulty, seed):
    it = make(name, difficulty, np.random.default_rng(seed))
    twice = it.mirror().mirror()
    for field in dataclasses.fields(it):
        one, two = getattr(it, field.name), getattr(twice, field.name)
        if isinstance(one, np.ndarray):
            assert one.tobytes() == two.tobytes()
        else:
            assert one == two


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_mirrored_surface_is_the_surface_mirrored(name, seed):
    it = course(name, seed=seed)
    x, y = np.linspace(-2.2, it.goal_x + 4, 300)[:, None], np.linspace(-3, 3, 121) + 1e-4
    plain, mirrored = heights(it, x, y), heights(it.mirror(), x, -y)
    assert np.array_equal(plain, mirrored)


@pytest.mark.parametrize("name", ["lateral_slope", "rocks", "tilted_box", "tilted_stairs"])
def test_lopsided_courses_differ_from_their_mirror_image(name):
    it = course(name)
    x, y = np.linspace(-1, it.goal_x + 2, 100)[:, None], np.linspace(-1, 1, 41)
    difference = np.abs(heights(it, x, y) - heights(it.mirror(), x, y))
    assert difference.max() > 0.05


@pytest.mark.parametrize("name", ["box", "gap"])
def test_beyond_the_range_too(name):
    it = course(name, FAMILIES[name].max_difficulty)
    x, y = np.linspace(-2.2, it.goal_x + 4, 300)[:, None], np.linspace(-3, 3, 121) + 1e-4
    assert np.array_equal(heights(it, x, y), heights(it.mirror(), x, -y))
    assert it.mirror().difficulty == it.difficulty


@pytest.mark.parametrize("name", ["flat", "box", "gap", "stairs"])
def test_upright_courses_are_their_own_mirror_image(name):
    it = course(name)
    x, y = np.linspace(-1, it.goal_x + 2, 100)[:, None], np.linspace(-1, 1, 41)
    assert np.array_equal(heights(it, x, y), heights(it.mirror(), x, y))


def test_stack_parks_the_slots_that_are_not_used():
    courses = [course("box"), course("rocks"), course("rocks").mirror()]
    boxes = stack(courses)
    assert boxes.count.tolist() == [2, 22, 22]
    assert (boxes.n, boxes.slots) == (3, 32)
    for k, it in enumerate(courses):
        used = boxes.pos[k, : it.n]
        assert torch.equal(used, torch.tensor(it.pos, dtype=torch.float32))
        assert (boxes.pos[k, it.n :, 2] == PARKED_Z).all()
        assert (boxes.half[k] > 0).all()  # size 0 would mean a plane to an engine
        assert torch.allclose(boxes.quat[k].norm(dim=-1), torch.ones(32))
    assert torch.equal(boxes.pos[1] * torch.tensor([1, -1, 1]), boxes.pos[2])


def test_stack_refuses_more_boxes_than_slots():
    with pytest.raises(UserError, match="'rocks' has 22 boxes, a world holds 8; use slots=22"):
        stack([course("rocks")], slots=8)
