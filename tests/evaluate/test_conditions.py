"""Rough conditions of `swap eval`: what they change, and that without them nothing changes."""

import pytest

import tiny_swap
from swap.errors import UserError
from swap.evaluate.conditions import CONDITIONS, NOMINAL, Condition, chosen
from swap.evaluate.success import course_of, measure, run_trials
from swap.presets import get_preset
from swap.runs.trained_robot import untrained

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
    with pytest.raises(UserError, match="has none"):
        CONDITIONS["specular"].cfg(get_preset("tiny").env)


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
        for condition in (None, Condition("nothing"))
    ]
    assert rows[0] == rows[1]


def test_names():
    assert chosen(("all",)) == [NOMINAL, *CONDITIONS]
    with pytest.raises(UserError, match="swap sim2sim has it"):
        chosen(("dark",))
    with pytest.raises(UserError, match="unknown condition"):
        chosen(("lava",))


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
