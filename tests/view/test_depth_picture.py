"""Pictures of depth are bright where the scene is near."""

import numpy as np
import pytest
import torch

from swap.errors import UserError
from swap.view.depth_picture import fitted, to_picture


def test_near_is_bright_and_every_step_darker():
    ramp = torch.linspace(0, 1, 101).repeat(3, 1)
    picture = to_picture(ramp)
    assert picture.shape == (3, 101, 3)
    assert picture.dtype == np.uint8
    light = picture[0] @ np.array([0.2126, 0.7152, 0.0722])
    assert (np.diff(light) < 0).all()
    assert light[0] > 230
    assert light[-1] < 20


def test_pictures_scale_by_whole_pixels_and_stand_bad_values():
    image = torch.tensor([[0.0, 2.0], [float("nan"), -1.0]])
    picture = to_picture(image, scale=3)
    assert picture.shape == (6, 6, 3)
    assert (picture[:3, :3] == picture[0, 0]).all()
    assert (picture[0, 3] == picture[3, 0]).all()
    assert (picture[5, 5] == picture[0, 0]).all()
    with pytest.raises(UserError, match=r"one image \[rows, cols\]"):
        to_picture(torch.zeros(1, 2, 3))
    with pytest.raises(UserError, match="use 1 or more"):
        to_picture(image, scale=0)


@pytest.mark.parametrize(
    ("rows", "cols", "size"),
    [(64, 64, (90, 90)), (32, 24, (68, 90)), (24, 32, (90, 68)), (1, 300, (90, 1))],
)
def test_pixels_stay_square_in_images_that_are_not(rows, cols, size):
    assert fitted(np.zeros((rows, cols, 3), np.uint8), 90).size == size
