"""Depth images are drawn below their titles, upright and unmirrored; a film shows them at the
bottom."""

import imageio_ffmpeg
import numpy as np
import pytest
import torch
from PIL import Image

import tiny_swap
from swap.courses import make
from swap.errors import UserError
from swap.presets import PRESETS
from swap.runs.trained_robot import TrainedRobot
from swap.view.depth_picture import to_picture
from swap.view.panels import PAGE, row
from swap.view.play import play
from swap.view.render import PictureCfg


def corner():
    """Near in the upper left, far elsewhere."""
    depth = torch.ones(64, 64)
    depth[:32, :32] = 0.0
    return depth


@pytest.mark.parametrize("width", [640, 320, 1280])
def test_every_panel_is_its_image_the_right_way_round(width):
    flat = torch.full((64, 64), 0.5)
    page = row([("one", "", flat), ("two", "", corner()), ("three", "", flat)], width)
    assert page.shape[1] == width
    assert page.shape[0] % 2 == 0
    assert page.shape[0] < width // 2
    gap = round(width / 80)
    side = (width - gap) // 3 - gap
    top, left = round(0.27 * side), gap + side + gap
    inside = page[top : top + side, left : left + side]
    expected = to_picture(corner())
    for y, x in ((0.25, 0.25), (0.25, 0.75), (0.75, 0.25), (0.75, 0.75)):
        np.testing.assert_array_equal(
            inside[int(y * side), int(x * side)], expected[int(y * 64), int(x * 64)]
        )
    assert inside[: side // 2, : side // 2].min() > 150  # near is bright
    around = page.copy()
    for k in range(3):
        around[top : top + side, gap + k * (side + gap) :][:, :side] = PAGE
    lettered = (around != PAGE).any(-1)
    assert lettered[:top].sum() > 50
    assert not lettered[top:].any()


def test_words_are_above_their_own_panel():
    flat = torch.zeros(64, 64)
    with_words, without = (row([("", "", flat), (t, t, flat)], 320) for t in ("words", ""))
    changed = (with_words != without).any(-1)
    assert changed.any()
    assert not changed[:, :160].any()


def test_a_film_of_what_a_robot_imagines(tmp_path):
    course = make("box", 0.2, np.random.default_rng(0))
    film, still = tmp_path / "film.mp4", tmp_path / "still.png"
    options = {"still": still, "look": PictureCfg(width=320, height=180), "time_s": 0.5}
    play(tiny_swap.robot(), [course], film, imagine=True, **options)
    assert imageio_ffmpeg.count_frames_and_secs(str(film))[0] > 10
    with Image.open(still) as picture:
        shown = np.array(picture)
    below = shown[180:]
    assert len(below) > 60
    # Four panels below the first frame: what is seen differs from what is believed.
    gap, side = 4, (320 - 4) // 4 - 4
    top = round(0.27 * side)
    panels = [below[top : top + side, gap + k * (side + gap) :][:, :side] for k in range(4)]
    assert not np.array_equal(panels[0], panels[1])
    assert not np.array_equal(panels[1], panels[2])
    np.testing.assert_array_equal(panels[2], panels[3])  # the first tick has no prediction yet
    last = [below[top : top + side, -320 + gap + k * (side + gap) :][:, :side] for k in range(4)]
    assert not np.array_equal(last[2], last[3])


def test_a_robot_without_a_world_model_imagines_nothing(tmp_path):
    blind = TrainedRobot("teacher", 0, PRESETS["teacher"], {})
    course = make("box", 0.2, np.random.default_rng(0))
    with pytest.raises(UserError, match="no world model to look into; leave --imagine out"):
        play(blind, [course], tmp_path / "film.mp4", imagine=True)
