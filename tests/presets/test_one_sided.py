"""No course of the one-sided presets is high on the right, as measured by rays."""

from dataclasses import replace
from math import degrees, radians, tan

import numpy as np
import pytest
import torch

from swap.courses import FAMILIES, make
from swap.courses.rays import cast, heights
from swap.env import EnvCfg
from swap.env.frame import LEVEL_M
from swap.env.random_source import RandomSource
from swap.env.tasks import CurriculumTasks
from swap.errors import UserError
from swap.presets import PRESETS
from swap.presets.one_sided import ONE_SIDED
from swap.presets.swap import ARMS
from swap.runs import to_json
from swap.runs.config import changes
from swap.sensors.cfg import HeightCfg

TILTED = ("tilted_box", "tilted_stairs", "tilted_gap")
Y = np.linspace(0.05, 1.2, 12)


def bank_of(env: EnvCfg, seed: int = 0):
    rng = RandomSource(1, torch.device("cpu"), seed)
    return CurriculumTasks.of(env, rng, seed).bank


def rises_to_the_left(course) -> np.ndarray:
    """Height on the left less height on the right, over the whole course."""
    x = np.arange(-1.5, course.goal_x + 2.5, 0.05)[:, None]
    return heights(course, x, Y) - heights(course, x, -Y)


@pytest.mark.parametrize("name", ONE_SIDED)
def test_they_are_the_arms_on_other_ground_and_on_one_side(name):
    cfg, arm = PRESETS[name], ARMS[name.removesuffix("-one-sided")]
    told = changes(to_json(arm), to_json(cfg))
    assert {line.split()[0] for line in told} == {"env.families", "env.mirror_half", "env.tilt_deg"}
    assert {family for family, _ in cfg.env.families} == {"flat", *TILTED}
    assert cfg == replace(arm, env=cfg.env)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_course_of_the_bank_is_high_on_the_right(seed):
    env = ONE_SIDED["swap-one-sided"].env
    bank = bank_of(env, seed)
    assert len(bank.courses) == 4 * env.levels * env.variants
    for course in bank.courses:
        rise = rises_to_the_left(course)
        assert rise.min() >= -1e-6, course.family
        assert (rise.max() > 0.1) == (course.family != "flat"), course.family
    # The measure works: it refuses half of a bank with both sides.
    both = bank_of(replace(env, mirror_half=True), seed)
    low = [rises_to_the_left(c).min() < -0.05 for c in both.courses if c.family != "flat"]
    assert sum(low) == len(low) / 2


@pytest.mark.parametrize("family", TILTED)
def test_the_tilt_does_not_go_with_the_size(family):
    bank = bank_of(EnvCfg(families=((family, 1.0),), mirror_half=False, tilt_deg=(5.0, 20.0)))
    sizes, angles = (
        np.array(x)
        for x in zip(
            *((c.size, degrees(np.arctan(c.goal_tilt))) for c in bank.courses), strict=True
        )
    )
    free = sizes > (0.5 if family == "tilted_box" else 0.0)  # lower boxes cannot be tilted as far
    assert angles[free].min() < 7
    assert angles[free].max() > 18
    assert abs(np.corrcoef(sizes[free], angles[free])[0, 1]) < 0.25
    by_size = bank_of(EnvCfg(families=((family, 1.0),), mirror_half=False))
    tied = [(c.difficulty, degrees(np.arctan(c.goal_tilt))) for c in by_size.courses]
    assert tied == [(d, pytest.approx(5 + 15 * d)) for d, _ in tied]


@pytest.mark.parametrize("angle", [5.0, 12.0, 20.0])
@pytest.mark.parametrize("difficulty", [0.0, 0.02, 0.2, 1.0])
def test_a_box_closes_its_lane_whatever_its_tilt(difficulty, angle):
    it = make("tilted_box", difficulty, np.random.default_rng(0), (angle, angle))
    y = np.linspace(-it.lane, it.lane, 101)
    origin = np.column_stack([np.zeros(101), y, np.full(101, 0.02)])
    hits = cast(it.pos, it.quat, it.half, origin, np.array([[1.0, 0.0, 0.0]]))
    assert hits.distance == pytest.approx(it.goal_x)
    assert it.goal_tilt <= tan(radians(angle)) + 1e-12
    if difficulty >= 0.2:
        assert it.goal_tilt == pytest.approx(tan(radians(angle)))


@pytest.mark.parametrize("family", TILTED)
def test_the_least_tilted_ground_is_not_flat_wherever_a_robot_looks(family):
    """The terrain map, turned by any heading, on tilted ground before and after the lowest one."""
    it = make(family, 0.0, np.random.default_rng(0), (5.0, 5.0))
    points = np.array(HeightCfg().terrain.points)
    places = [it.goal_x + 1.2] if family == "tilted_box" else [it.goal_x + 1.2, 3.4]
    for x in places:
        for heading in np.linspace(0, np.pi, 9):
            turn = np.array(
                [[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]
            )
            at = points @ turn.T
            z = heights(it, x + at[:, 0], at[:, 1])
            assert np.ptp(z) > 2 * LEVEL_M, (family, x, heading)


@pytest.mark.parametrize("tilt", [(0.0, 10.0), (5.0, 30.0), (12.0, 8.0)])
def test_angles_that_are_none_of_these_are_told_in_one_line(tilt):
    with pytest.raises(UserError, match="give a range within 5 to 20 degrees"):
        EnvCfg(tilt_deg=tilt)


def test_only_families_that_tilt_are_given_an_angle():
    assert [name for name, family in FAMILIES.items() if family.tilts] == list(TILTED)
    for name in FAMILIES:
        courses = [make(name, 0.3, np.random.default_rng(1), tilt) for tilt in (None, (6.0, 6.0))]
        same = all(
            np.array_equal(a, b) for a, b in zip(*(vars(c).values() for c in courses), strict=True)
        )
        assert same == (name not in TILTED)
