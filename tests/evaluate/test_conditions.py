"""Rough conditions of `swap eval`: what they change, and that without them nothing changes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import tiny_swap
from swap.conditions import ABOUT, NOMINAL, chosen
from swap.courses.rays import heights
from swap.errors import UserError
from swap.evaluate.conditions import CONDITIONS, Condition
from swap.evaluate.success import course_of, measure, run_trials, trials_env
from swap.presets import get_preset
from swap.runs.trained_robot import untrained
from swap.sim2sim.conditions import CONDITIONS as ELSEWHERE

ROBOT = tiny_swap.robot()


def drawn(name):
    courses = [course_of("flat", 0.0, k, seed=0, side="both") for k in range(24)]
    return run_trials(ROBOT, courses, 1.0, "cpu", 0, condition=CONDITIONS.get(name)).drawn


def test_wet_ground_payload_and_one_weak_motor():
    nominal, wet, payload, weak = map(drawn, (NOMINAL, "wet", "payload", "weak_motor"))
    assert float(wet.friction.max()) <= 0.45 < 0.5 <= float(nominal.friction.min())
    mass = ROBOT.cfg.env.load_robot().mass
    assert payload.payload.tolist() == pytest.approx([0.2 * mass] * 24)
    halves = (weak.strength / nominal.strength).round(decimals=4)
    assert (halves == 0.5).sum(1).tolist() == [1] * 24
    assert (halves == 0.5).sum(0).tolist() == [2] * 12


def test_the_camera_and_pushes():
    env = ROBOT.cfg.env
    assert CONDITIONS["specular"].cfg(env).camera.noise.blob_holes > env.camera.noise.blob_holes
    assert CONDITIONS["pushes"].push_every_s > 0
    for name in ("specular", "dark", "grass", "glass"):
        with pytest.raises(UserError, match="the robot has none"):
            CONDITIONS[name].cfg(get_preset("tiny").env)


def first_images(name, n=12):
    """What robots see at their start, without other noise; and the courses that are there."""
    rough = CONDITIONS.get(name, Condition())
    cfg = rough.cfg(ROBOT.cfg.env)
    quiet = replace(cfg.camera.noise, sigma_m=0.0, sigma_per_m=0.0, edge_holes=0.0, blob_holes=0.0)
    cfg = replace(cfg, camera=replace(cfg.camera, noise=quiet))
    courses = [course_of("box", 0.3, k, seed=0, side="both") for k in range(n)]
    solid, seen = rough.courses(courses, 0)
    env = trials_env(cfg, solid, 1.0, "cpu", 0, seen=seen)
    return env.reset()["depth_noisy"].clone(), env, solid


def test_in_the_dark_one_pixel_in_ten_is_seen():
    nominal, dark = (first_images(name)[0] < 1 for name in (NOMINAL, "dark"))
    assert not (dark & ~nominal).any()
    assert (dark.sum() / nominal.sum()).item() == pytest.approx(0.1, abs=0.02)


def test_grass_is_seen_and_not_solid_glass_is_the_reverse():
    (nominal, _, plain), (grass, meadow, _), (glass, _, panes) = map(
        first_images, (NOMINAL, "grass", "glass")
    )
    assert ((grass - nominal).abs() > 0.01).float().mean() > 0.005
    assert torch.equal(glass, nominal)
    assert meadow.engine.boxes.count.tolist() == [course.n for course in plain]
    x, y = np.linspace(0.8, 2.6, 200)[:, None], np.linspace(-0.5, 0.5, 9)
    for before, after in zip(plain, panes, strict=True):
        sills = heights(after, x, y) - heights(before, x, y)
        assert (sills == sills[:, :1]).all(), "they reach across the lane"
        assert 0.04 <= sills.max() <= 0.1
        assert 0.05 < (sills[:, 0] > 0).mean() < 0.15, "two of them, 10 cm each"


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_condition_can_be_measured(name):
    wanted = [("box", 0.2), ("stepping_stones", 0.0)]
    rows = list(
        measure(
            ROBOT,
            wanted,
            trials=2,
            speeds_mps=(1.0,),
            device="cpu",
            condition=CONDITIONS[name],
        )
    )
    assert [row["trials"] for row in rows] == [2, 2]


def test_no_condition_changes_nothing():
    """An empty one gives the very rows that none gives."""
    rows = [
        list(
            measure(
                ROBOT,
                [("box", 0.2)],
                trials=6,
                speeds_mps=(1.0,),
                device="cpu",
                condition=condition,
            )
        )
        for condition in (None, Condition())
    ]
    assert rows[0] == rows[1]


def test_names_are_those_of_sim2sim():
    assert list(ELSEWHERE) == list(ABOUT)
    assert list(CONDITIONS) == [name for name in ABOUT if name in CONDITIONS]
    assert chosen(("all",), CONDITIONS) == [NOMINAL, *CONDITIONS]
    with pytest.raises(UserError, match="swap sim2sim has it"):
        chosen(("rubble",), CONDITIONS)
    with pytest.raises(UserError, match="unknown condition"):
        chosen(("lava",), CONDITIONS)


def test_a_robot_without_eyes_can_be_measured_on_wet_ground():
    (row,) = measure(
        untrained("tiny"),
        [("flat", 0.0)],
        trials=4,
        speeds_mps=(1.0,),
        device="cpu",
        condition=CONDITIONS["wet"],
    )
    assert row["trials"] == 4
