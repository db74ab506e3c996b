"""A frame says how high feet swing, and how fast they slide while they stand."""

from dataclasses import replace

import pytest
import torch

from swap.sim import CONTROL_DT

LIFTED = 0.07


@pytest.fixture
def pace(w):
    """A standing robot, and a function that moves its legs by hand and returns the frame."""
    env = w.small(n=1)
    env.reset()
    for _ in range(25):
        env.step(torch.zeros(1, 12))
    state = env.engine.state
    rest, force = state.leg_pos.clone(), state.force.clone()
    force[:, :4, 2] = 180.0

    def go(shift=0.0, up=(0.0, 0.0, 0.0, 0.0), turned=0.0):
        """All legs ahead by `shift` m, feet `up` by so much, legs `turned` by so many rad about the
        points where their feet touch the ground."""
        legs, on = rest.clone(), force.clone()
        contact = rest[:, :, 2:] - torch.tensor([0.0, 0.0, env.robot.legs[0].foot_radius])
        arm = rest - contact
        legs[..., 0] += shift + turned * arm[..., 2]
        legs[..., 2] -= turned * arm[..., 0]
        for leg, height in enumerate(up):
            legs[:, leg, 1:, 2] += height
            if height > 0:
                on[:, leg] = 0
        here = replace(state, leg_pos=legs, force=on)
        asked, course = torch.zeros(1, 3), torch.tensor([True])
        return env.frame_builder.frame(
            here, env.heights, env.goals, asked, torch.zeros(1), course, torch.ones(1)
        )

    go()
    go()
    return go, env.robot.legs[0]


def test_a_foot_that_stands_still_does_not_slip(pace):
    go, _ = pace
    assert go().slip_mps.abs().max() < 1e-4


def test_a_leg_that_is_dragged_slips_as_fast_as_it_goes(pace):
    go, _ = pace
    slip = go(shift=0.3 * CONTROL_DT).slip_mps
    torch.testing.assert_close(slip, torch.full((1, 4), 0.3), atol=1e-3, rtol=0)


def test_a_foot_that_rolls_does_not_slip(pace):
    """The foot is a sphere: its centre moves, the contact point stays."""
    go, leg = pace
    angle = 0.01
    centre_mps = angle * leg.foot_radius / CONTROL_DT
    # A shank that leans sideways also twists about its axis, which is neglected.
    assert go(turned=angle).slip_mps.max() < 0.1 * centre_mps


def test_a_foot_in_the_air_does_not_slip_and_its_swing_is_the_highest_it_was(pace):
    go, _ = pace
    for height in (0.02, LIFTED, 0.03):
        f = go(shift=height, up=(height, 0, 0, 0))
        assert f.slip_mps[0, 0] == 0
    f = go()
    assert f.landed.tolist() == [[True, False, False, False]]
    assert float(f.swing_m[0, 0]) == pytest.approx(LIFTED, abs=0.01)  # a standing foot sinks a bit
    assert float(go().swing_m[0, 0]) < 0.01  # the next swing begins at the ground


def test_low_obstacles_are_not_flat_ground(w):
    for family in ("tilted_box", "tilted_stairs", "tilted_gap", "box", "stairs", "lateral_slope"):
        env = w.small(families=((family, 1.0),))
        env.reset()
        # Put the robot past the run-up, at the obstacle.
        state = env.engine.state
        pos = state.base_pos.clone()
        pos[:, 0] = env.goals.x
        env.heights.measure(env.engine.boxes, replace(state, base_pos=pos))
        here = replace(state, base_pos=pos)
        asked, zero = torch.zeros(env.n, 3), torch.zeros(env.n)
        f = env.frame_builder.frame(here, env.heights, env.goals, asked, zero, zero == 0, zero)
        assert not f.flat.any(), family
        assert not f.flat_ahead.any()
