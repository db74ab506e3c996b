"""Panels show the given values in their regions, and change nothing else."""

import numpy as np
import pytest
import torch

from swap.errors import UserError
from swap.view.overlay import annotate, regions

GIVEN = {
    "depth": torch.linspace(0, 1, 64 * 64).reshape(64, 64),
    "command": (1.2, -0.4, 0.7),
    "caption": "apollo · box 0.45 m",
    "time_s": 1.24,
}


@pytest.mark.parametrize("size", [(640, 360), (320, 180), (200, 200), (1280, 720)])
@pytest.mark.parametrize("what", list(GIVEN))
def test_only_the_panel_changes(what, size):
    picture = np.full((size[1], size[0], 3), 128, np.uint8)
    before = picture.copy()
    changed = (annotate(picture, **{what: GIVEN[what]}) != before).any(-1)
    left, top, right, bottom = regions(*size)[what.removesuffix("_s")]
    inside = changed[top:bottom, left:right].sum()
    assert changed.sum() == inside > 20
    np.testing.assert_array_equal(picture, before)


def test_long_and_wild_values_stay_in_their_panel():
    picture = np.full((360, 640, 3), 128, np.uint8)
    wild = {"caption": "a very long caption " * 9, "command": (99.0, -99.0, -99.0), "speed": -12.3}
    changed = (annotate(picture, **wild) != picture).any(-1)
    for name in ("caption", "command"):
        left, top, right, bottom = regions(640, 360)[name]
        changed[top:bottom, left:right] = False
    assert not changed.any()


def test_nothing_given_changes_nothing():
    picture = np.random.default_rng(0).integers(0, 255, (90, 160, 3), dtype=np.uint8)
    np.testing.assert_array_equal(annotate(picture), picture)


def test_the_bar_grows_with_speed():
    picture = np.zeros((360, 640, 3), np.uint8)

    def blue(speed: float) -> int:
        image = annotate(picture, speed=speed).astype(int)
        return int((image == (110, 200, 255)).all(-1).sum())

    assert blue(0.5) < blue(1.5) < blue(3.0) == blue(4.0)


def test_the_inset_is_the_depth_image():
    picture = np.zeros((360, 640, 3), np.uint8)
    depth = torch.ones(64, 64)
    depth[:, :32] = 0.0  # near on the left: bright
    image = annotate(picture, depth=depth).mean(-1)
    left, top, right, bottom = regions(640, 360)["depth"]
    middle = (left + right) // 2
    inner = image[top + 2 : bottom - 2]
    assert inner[:, left + 2 : middle - 2].min() > 200
    assert inner[:, middle + 2 : right - 2].max() < 40


@pytest.mark.parametrize(("rows", "cols"), [(64, 32), (32, 64)])
def test_the_inset_of_an_image_that_is_not_square_has_its_frame_in_the_corner(rows, cols):
    picture = np.zeros((360, 640, 3), np.uint8)
    image = annotate(picture, depth=torch.zeros(rows, cols))
    left, top, right, _ = regions(640, 360)["depth"]
    there = image.any(-1)
    assert there[top, right - 1]
    side = right - left
    assert there.any(0).sum() == pytest.approx(side * min(cols / rows, 1), abs=4)
    assert there.any(1).sum() == pytest.approx(side * min(rows / cols, 1), abs=4)


def test_mistakes_are_told_in_one_line():
    with pytest.raises(UserError, match="give forward, left, turn"):
        annotate(np.zeros((90, 160, 3), np.uint8), command=(1.0, 2.0))
