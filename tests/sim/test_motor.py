"""The torque-speed curve has values computed by hand, and is the same in numpy, torch and Warp."""

import numpy as np
import pytest
import torch
import warp as wp

from swap.sim import motor_torque
from swap.sim.motor import motor_torque_wp


@pytest.mark.parametrize(
    ("error", "vel", "strength", "want"),
    [
        (0.1, 0.0, 1.0, 10.0),  # PD: 100 * 0.1
        (0.1, 1.0, 1.0, 8.0),  # damping: 10 - 2 * 1
        (5.0, 0.0, 1.0, 200.0),  # stalled: peak
        (5.0, 10.0, 1.0, 100.0),  # driving at half the no-load speed: half the peak
        (5.0, 20.0, 1.0, 0.0),  # driving at the no-load speed: nothing
        (5.0, 30.0, 1.0, 0.0),  # beyond it: still nothing, never backwards
        (-5.0, 10.0, 1.0, -200.0),  # braking: full at any speed
        (-5.0, 30.0, 1.0, -200.0),
        (-5.0, -10.0, 1.0, -100.0),  # driving the other way
        (0.1, 0.0, 0.8, 8.0),  # a weak motor gives less
        (5.0, 0.0, 1.2, 200.0),  # a strong one never more than the peak
        (0.0, 0.0, 1.0, 0.0),
    ],
)
def test_hand_computed_points(error, vel, strength, want):
    one = np.ones(1)
    args = [error * one, 0 * one, vel * one, 100 * one, 2 * one]
    args += [strength * one, 200 * one, 20 * one]
    assert motor_torque(*args)[0] == pytest.approx(want)
    assert motor_torque(*map(torch.from_numpy, args))[0].item() == pytest.approx(want)


@wp.kernel
def _run(rows: wp.array2d[float], out: wp.array[float]):
    i = wp.tid()
    r = rows[i]
    out[i] = motor_torque_wp(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])


def test_warp_computes_the_same():
    rng = np.random.default_rng(0)
    low = [-3, -3, -40, 50, 0.5, 0.8, 50, 10]
    high = [3, 3, 40, 400, 9, 1.2, 400, 30]
    rows = rng.uniform(low, high, (1000, 8)).astype(np.float32)
    out = wp.zeros(1000, dtype=float, device="cpu")
    wp.launch(_run, dim=1000, inputs=[wp.array(rows, dtype=float, device="cpu"), out], device="cpu")
    want = motor_torque(*rows.astype(float).T)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-3)
