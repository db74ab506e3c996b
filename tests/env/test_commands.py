"""Tests the ranges, headings, standing and durations of commands."""

import math

import pytest
import torch

from swap.env import CommandCfg
from swap.env.commands import Commands
from swap.env.random_source import RandomSource
from swap.errors import UserError

N = 4000
EVERYONE = torch.ones(N, dtype=torch.bool)
NOBODY = ~EVERYONE


def commands(cfg: CommandCfg | None = None, flat=NOBODY, progress: float = 0.0) -> Commands:
    made = Commands(
        cfg or CommandCfg(), RandomSource(N, torch.device("cpu"), 0), lambda mask: False
    )
    made.start(EVERYONE, flat)
    made.advance(torch.zeros(N), torch.full((N,), progress))
    return made


@pytest.mark.parametrize(("progress", "high"), [(0.0, 2.0), (0.5, 2.5), (1.0, 3.0)])
def test_on_a_course_ahead_only_and_faster_as_the_frontier_rises(progress, high):
    c = commands(progress=progress)
    assert not c.free.any()
    assert 0.35 <= c.value[:, 0].min() < 0.37
    assert high - 0.02 < c.value[:, 0].max() <= high
    assert (c.value[:, 1:] == 0).all()
    assert (c.heading_rad == 0).all()


def test_the_yaw_rate_is_half_the_heading_error_up_to_the_limit():
    c = commands()
    c.heading_rad = torch.zeros(N)
    heading = torch.zeros(N)
    heading[:5] = torch.tensor([0.4, -0.4, 2.5, -2.5, 2 * math.pi - 0.2])
    c.steer(heading)
    wanted = torch.tensor([-0.2, 0.2, -1.0, 1.0, 0.1])
    torch.testing.assert_close(c.value[:5, 2], wanted, atol=1e-5, rtol=0)


def test_half_of_the_flat_worlds_are_free_and_a_fifth_of_those_stand():
    c = commands(flat=EVERYONE)
    assert c.free.float().mean().item() == pytest.approx(0.5, abs=0.03)
    free = c.value[c.free]
    still = (free[:, :2] == 0).all(1)
    assert still.float().mean().item() == pytest.approx(0.2, abs=0.06)  # and those made zero
    assert free[:, 0].min() < -0.4
    assert free[:, 1].min() < -0.55
    assert free[:, 1].max() > 0.55
    assert (free[~still].norm(dim=1) >= 0.2).all()
    c.steer(torch.full((N,), 1.0))
    stands = c.free & (c.value[:, :2] == 0).all(1) & (c.value[:, 2] == 0)
    assert stands.float().sum() / c.free.sum() == pytest.approx(0.2, abs=0.03)
    assert c.heading_rad[c.free].abs().max() > 3


def test_a_command_lasts_its_time():
    c = commands(CommandCfg(resample_s=0.1))
    first = c.value.clone()
    for _ in range(4):
        c.advance(torch.zeros(N), torch.zeros(N))
        assert (c.value[:, 0] == first[:, 0]).all()
    c.advance(torch.zeros(N), torch.zeros(N))
    assert (c.value[:, 0] != first[:, 0]).float().mean() > 0.99


def test_a_held_command_stays():
    c = commands(CommandCfg(resample_s=0.1), flat=EVERYONE)
    half = torch.arange(N) < N // 2
    c.hold(half, (1.5, 0.2, -0.3))
    for _ in range(20):
        c.advance(torch.zeros(N), torch.zeros(N))
    wanted = torch.tensor([1.5, 0.2, -0.15]).expand(N // 2, 3)
    torch.testing.assert_close(c.value[half], wanted)
    assert not c.free[half].any()
    assert c.free[~half].any()


def test_a_bad_configuration_is_told():
    with pytest.raises(UserError, match="runs backwards"):
        CommandCfg(forward_high_mps=(3.0, 2.0))
    with pytest.raises(UserError, match=r"forward_low_mps=2\.5 must lie between"):
        CommandCfg(forward_low_mps=2.5)
    with pytest.raises(UserError, match="it is a fraction, use 0 to 1"):
        CommandCfg(stand_fraction=1.5)
