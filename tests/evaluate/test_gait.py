"""Gait figures of footfalls made by hand, of planned gaits, and of a trained robot."""

from dataclasses import fields, replace
from itertools import groupby
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from swap.errors import UserError
from swap.evaluate.footfalls import Feet, GaitRecording, footfalls, in_contact
from swap.evaluate.gait import measure, record_of, references, rows, straight
from swap.robots import load
from swap.runs.trained_robot import load_trained, untrained
from swap.sim import CONTROL_DT

RADIUS = torch.full((4,), 0.04)
MODELS = Path(__file__).parents[2] / "models"


def upright(feet, touching):
    """Feet [T, N, 4, 3] under legs that do not turn; all robots walk."""
    knee = feet + torch.tensor([-0.1, 0.0, 0.3])
    hip = knee + torch.tensor([0.2, 0.0, 0.3])
    shape = touching.shape[:2]
    return GaitRecording(
        base_pos=torch.zeros(*shape, 3),
        leg_pos=torch.stack([hip, knee, feet], -2),
        touching=touching,
        power_w=torch.ones(shape),
        walking=torch.ones(shape, dtype=torch.bool),
    )


def resting(steps, n=1):
    """Feet that rest on the ground in `steps` frames."""
    feet = torch.zeros(steps, n, 4, 3)
    feet[..., 2] = RADIUS
    return feet, torch.ones(steps, n, 4, dtype=torch.bool)


@pytest.fixture(scope="module")
def chance():
    """A random recording, with bounces and robots whose trials end."""
    luck = torch.Generator().manual_seed(0)
    frames, n = 120, 5
    feet = torch.rand(frames, n, 4, 3, generator=luck)
    touching = (torch.rand(frames // 4, n, 4, generator=luck) < 0.5).repeat_interleave(4, 0)
    touching ^= torch.rand(frames, n, 4, generator=luck) < 0.1
    ends = torch.tensor([30, 70, 90, 200, 200])
    record = upright(feet, touching)
    base = torch.rand(frames, n, 3, generator=luck)
    walking = torch.arange(frames)[:, None] < ends
    return replace(record, base_pos=base, walking=walking)


def same(one: Feet, other: Feet, order=(0, 1, 2, 3)):
    for field in fields(Feet):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        torch.testing.assert_close(ours[list(order)], theirs, equal_nan=True)


@given(st.integers(8, 40), st.data())
def test_cadence_and_duty_are_those_of_the_footfalls(period, data):
    stance = data.draw(st.integers(3, period - 3))
    phase = torch.tensor(data.draw(st.lists(st.integers(0, period - 1), min_size=4, max_size=4)))
    clock = torch.arange(5 * period + 1)[:, None, None] + phase  # five whole cycles
    touching = (clock % period < stance).expand(-1, 2, -1)
    feet, _ = resting(*touching.shape[:2])
    told = footfalls(upright(feet, touching), RADIUS)
    torch.testing.assert_close(told.cadence_hz, torch.full((4,), 1 / (period * CONTROL_DT)))
    torch.testing.assert_close(told.duty, torch.full((4,), stance / period))
    torch.testing.assert_close(told.slip_mps, torch.zeros(4))


def test_clearance_is_the_mean_of_the_highest_points_of_whole_swings(chance):
    told = footfalls(chance, RADIUS).clearance_m
    down, z = in_contact(chance.touching), chance.leg_pos[:, :, :, 2, 2] - RADIUS
    for foot in range(4):
        tops = []
        for n in range(down.shape[1]):
            frames = range(int(chance.walking[:, n].sum()))
            runs = [list(run) for _, run in groupby(frames, lambda t: bool(down[t, n, foot]))]  # noqa: B023
            whole = [run for run in runs[1:-1] if not down[run[0], n, foot]]
            tops += [float(z[run, n, foot].max()) for run in whole]
        assert len(tops) > 20
        assert float(told[foot]) == pytest.approx(sum(tops) / len(tops), rel=1e-5)


def test_touchdowns_are_those_of_training(chance):
    touching = chance.touching
    standing = touching.clone()  # as `swap.env.frame.FrameBuilder` has it: now or a step ago
    standing[1:] |= touching[:-1]
    down = in_contact(touching)
    assert torch.equal((down[1:] & ~down[:-1])[1:], (standing[1:] & ~standing[:-1])[1:])


def test_a_foot_that_bounces_for_a_step_has_not_stepped():
    feet, touching = resting(51)
    touching[20] = False
    touching[30:32, :, 1] = False
    told = footfalls(upright(feet, touching), RADIUS)
    assert told.cadence_hz.tolist() == [0, pytest.approx(1.0), 0, 0]
    assert told.duty.tolist() == pytest.approx([1, 0.96, 1, 1])
    assert told.clearance_m.isnan().tolist() == [True, False, True, True]


vectors = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(torch.tensor)


def turning_legs(spin, velocity, steps=40):
    """Legs that turn as one about their feet [rad/s], which move with `velocity`, in float64."""
    time = torch.arange(steps) * CONTROL_DT
    feet, touching = resting(steps)
    still = upright(feet, touching).leg_pos.double()
    x, y, z = spin.double()
    skew = torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=torch.float64)
    turn = torch.linalg.matrix_exp(skew * time[:, None, None])
    foot = still[..., 2:, :]
    turned = torch.einsum("tij,tnlpj->tnlpi", turn, still - foot) + foot
    moved = velocity.double() * time[:, None, None, None, None]
    return replace(upright(feet, touching), leg_pos=turned + moved)


@given(vectors, vectors)
def test_slip_is_the_speed_of_the_point_that_touches(spin, velocity):
    told = footfalls(turning_legs(spin, velocity), RADIUS).slip_mps
    point = velocity + torch.linalg.cross(spin, torch.tensor([0.0, 0.0, -0.04]))
    torch.testing.assert_close(told.float(), point[:2].norm().expand(4), rtol=2e-3, atol=5e-4)


def test_rolling_is_no_slip():
    for x, y in ((0.0, 2.0), (1.0, 0.0), (-1.0, 2.0)):
        rolls = torch.tensor([0.04 * y, -0.04 * x, 0.0])  # v = ω x r, from the ground up
        slip = footfalls(turning_legs(torch.tensor([x, y, 0.0]), rolls), RADIUS).slip_mps
        assert float(slip.max()) < 1e-3 * float(rolls.norm())


def test_landing_and_lifting_are_no_slip():
    feet, touching = resting(40)
    touching[:10], touching[30:] = False, False  # in contact in frames 10 to 29
    feet[:11, ..., 0] = torch.arange(11).flip(0)[:, None, None] * 0.02
    feet[29:, ..., 0] = torch.arange(11)[:, None, None] * 0.02
    feet[10:, ..., 0] += 0.01  # the rest of the landing: within the step to frame 10
    feet[29:, ..., 0] += 0.01
    assert footfalls(upright(feet, touching), RADIUS).slip_mps.tolist() == [0] * 4


def test_what_follows_an_end_does_not_count(chance):
    other = {name: x.clone() for name, x in vars(chance).items()}
    for name in ("leg_pos", "touching"):
        past = ~chance.walking
        past[1:] &= past[:-1].clone()  # a contact is known to go on by the frame after it
        other[name][past] = 7 if name == "leg_pos" else True
    same(footfalls(GaitRecording(**other), RADIUS), footfalls(chance, RADIUS))


def test_the_mirror_image_walks_alike(chance):
    robot = load("apollo")
    legs = list(robot.body.leg_rep.perm)
    flip = torch.tensor([1.0, -1.0, 1.0])
    image = replace(
        chance,
        base_pos=chance.base_pos * flip,
        leg_pos=chance.leg_pos[:, :, legs] * flip,
        touching=chance.touching[:, :, legs],
    )
    same(footfalls(chance, RADIUS), footfalls(image, RADIUS), legs)
    mass = torch.full((5,), 60.0)
    (ours,), (theirs,) = (rows(robot, x, mass, {}, {}, feet=False) for x in (chance, image))
    assert ours == pytest.approx(theirs)


def test_asymmetry_is_the_largest_difference_as_a_share():
    left = torch.tensor([True, False, True, False])
    feet = Feet(
        cadence_hz=torch.tensor([2.0, 2.0, 2.0, 2.0]),
        clearance_m=torch.tensor([0.05, 0.03, float("nan"), 0.03]),
        slip_mps=torch.tensor([0.0, 9.0, 0.0, 9.0]),
        duty=torch.tensor([0.6, 0.5, 0.6, 0.5]),
    )
    assert feet.asymmetry(left) == pytest.approx(0.02 / 0.04)
    assert feet.asymmetry(~left) == feet.asymmetry(left)


@pytest.mark.parametrize("name", ["apollo", "go2"])
@pytest.mark.parametrize("gait", ["walk", "trot", "bound"])
def test_reference_gaits_have_the_figures_they_are_planned_with(name, gait):
    robot = load(name)
    for clip in straight(robot, gait):
        told = rows(robot, record_of(robot, clip), torch.tensor([robot.mass]), {}, {}, feet=False)
        row, timing = told[0], clip.timing
        assert row["cadence_hz"] == pytest.approx(timing.frequency_hz, rel=0.01)
        assert row["duty"] == pytest.approx(timing.duty, abs=CONTROL_DT * timing.frequency_hz)
        assert 0.9 * timing.lift_m < row["clearance_m"] <= timing.lift_m * 1.001
        assert row["speed_mps"] == pytest.approx(clip.command.forward_mps, rel=0.02)
        assert row["asymmetry"] < 0.05


def test_references_are_the_nearest_ones():
    told = references(load("apollo"), (0.1, 1.1, 9.0))
    trots = [row["command_mps"] for row in told if row["gait"] == "reference trot"]
    assert trots == pytest.approx([0.3, 1.0, 2.0], rel=1e-3)


def test_a_published_robot_walks():
    robot = load_trained(MODELS / "swap.safetensors")
    options = {"robots": 4, "seconds": 3.0, "device": "cpu", "feet": True}
    several = list(measure(robot, (0.5, 1.0), **options))
    assert [len(told) for told in several] == [5, 5]
    for told, command in zip(several, (0.5, 1.0), strict=True):
        assert [row["foot"] for row in told] == ["all", "FL", "FR", "RL", "RR"]
        row = told[0]
        assert row["fallen"] == 0
        assert row["speed_mps"] == pytest.approx(command, abs=0.25)
        assert 1 < row["cadence_hz"] < 8
        assert 0.005 < row["clearance_m"] < 0.2
        assert 0 < row["slip_mps"] < 0.6
        assert 0.3 < row["duty"] < 0.9
        assert 0 <= row["asymmetry"] < 1
        assert row["cost_of_transport"] == pytest.approx(
            row["power_w"] / (9.81 * 1.1 * load("apollo").mass * row["speed_mps"]), rel=0.1
        )
        assert row["duty"] == pytest.approx(sum(foot["duty"] for foot in told[1:]) / 4)


def test_a_robot_that_has_learned_nothing_does_not():
    ((row,),) = measure(untrained("tiny"), (1.0,), robots=2, seconds=6.0, device="cpu")
    assert row["fallen"] == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"speeds_mps": (0.0,)}, "--speeds 0.0; give speeds above zero"),
        ({"speeds_mps": ()}, "give speeds above zero"),
        ({"robots": 0}, "--robots 0 measures nothing"),
        ({"seconds": 2.0}, "--seconds 2 measures nothing: the first 2 s are left out"),
        ({"seconds": 60.0}, "1 m/s for 60 s is 60 m, the ground ends at 40 m; use --seconds 35"),
    ],
)
def test_mistakes_name_the_fix(given, says):
    options = {"speeds_mps": (1.0,), "robots": 1, "seconds": 3.0, "device": "cpu", **given}
    with pytest.raises(UserError, match=says):
        next(measure(untrained("tiny"), **options))
