"""The camera sees enough of the largest obstacles, beyond the range of training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from camera_setup import MOUNT
from swap.courses import FAMILIES, make, stack
from swap.sensors import OpticsCfg
from swap.sensors.depth import DepthRenderer

HIP_M = 0.55


def picture(course, x, y=0.0):
    """Depth [64, 64] in metres, from a level base at x, y that stands on the ground there."""
    camera = DepthRenderer(OpticsCfg(), MOUNT, 1, slots=4)
    pos, quat = torch.tensor([[x, y, HIP_M]]), torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    camera(stack([course], 4), pos, quat)
    return OpticsCfg().metres(camera.image[0]).clone()


def largest(name):
    return make(name, FAMILIES[name].max_difficulty, np.random.default_rng(0))


def test_the_far_bank_is_seen_one_metre_before_the_edge_of_the_widest_gap():
    gap = largest("gap")
    edge = gap.goal_x - gap.size
    endless = replace(gap, pos=gap.pos.copy())
    endless.pos[1, 0] += 20.0  # the far bank taken away
    here = picture(gap, edge - 1.0)
    seen = here < picture(endless, edge - 1.0) - 0.05
    assert seen.sum() > 20
    assert here[seen].min() > gap.size
    assert here[seen].max() <= OpticsCfg().far_m


def test_the_upper_edge_of_the_tallest_box_is_seen_from_three_and_a_half_metres():
    box = largest("box")
    image = picture(box, box.goal_x - 3.5)
    middle = image[:, 31:33].mean(1)
    wall = middle < 4.0
    assert wall.any()
    assert middle[0] == OpticsCfg().far_m  # sky above the edge
    # The wall's top row looks at the edge: from the camera, 1.59 m up and 3.08 m ahead.
    cfg = OpticsCfg()
    row = int(wall.nonzero()[0])
    tangent = ((cfg.rows - 1) / 2 - row) * cfg.pixel
    up = np.arctan(tangent) - MOUNT.pitch
    expected = np.arctan2(box.size - HIP_M - MOUNT.pos[2], 3.5 - MOUNT.pos[0])
    assert up == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("name", ["box", "gap"])
def test_a_mirrored_view_is_the_flipped_picture(name):
    course = largest(name)
    one, other = picture(course, 1.5, 0.4), picture(course.mirror(), 1.5, -0.4)
    assert torch.equal(one, other.flip(1))
