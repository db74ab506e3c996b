"""Each rough condition does to the simulated robot what its name says."""

import gc
import weakref
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from sim2sim_scene import MOTORS, ROBOT, SPEC, hold, trial
from swap.conditions import NOMINAL, chosen
from swap.errors import UserError
from swap.sim2sim.body import SimulatedRobot
from swap.sim2sim.camera import Camera
from swap.sim2sim.cfg import SimCfg
from swap.sim2sim.conditions import CONDITIONS, under


def body(name, k=0):
    return SimulatedRobot(ROBOT, MOTORS, under(SimCfg(), name), trial(k=k))


def clean(made, k=0):
    return Camera(made, SPEC, trial(k=k), "rays").clean()


def test_names():
    assert chosen((), CONDITIONS) == []
    assert chosen(("wet", "dark"), CONDITIONS) == [NOMINAL, "wet", "dark"]
    assert chosen(("all",), CONDITIONS) == [NOMINAL, *CONDITIONS]
    with pytest.raises(UserError, match="did you mean 'grass'"):
        chosen(("gras",), CONDITIONS)


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_condition_lives_for_a_second(name):
    made = body(name)
    for _ in range(1000):
        made.step(hold())
    assert not made.diverged


def test_wet_ground_is_slippery_and_payload_heavy():
    grip = {name: body(name).model.geom("box0").friction[0] for name in (NOMINAL, "wet")}
    assert grip["wet"] <= 0.45 < 0.5 <= grip[NOMINAL]
    mass = {name: body(name).model.body("trunk").mass[0] for name in (NOMINAL, "payload")}
    assert mass["payload"] == pytest.approx(ROBOT.trunk.mass + 0.2 * ROBOT.mass)
    assert mass["payload"] > mass[NOMINAL]


@pytest.mark.parametrize(("name", "share"), [("dark", 0.1), ("specular", 0.67)])
def test_pixels_are_lost(name, share):
    made, told = body(name), trial()
    camera = Camera(made, SPEC, told, "rays")
    seen = camera.clean() > 0
    first = camera.take().metres > 0
    made.data.time += 0.5
    later = camera.take().metres > 0
    assert first.sum() / seen.sum() == pytest.approx(share, abs=0.25 if share > 0.5 else 0.03)
    assert (first != later).mean() > 0.02, "what is lost does not move"


def test_grass_is_seen_and_not_solid_glass_is_the_reverse():
    plain, grass, glass = (body(name) for name in (NOMINAL, "grass", "glass"))
    assert (np.abs(clean(grass) - clean(plain)) > 0.1).mean() > 0.005
    np.testing.assert_array_equal(clean(glass), clean(plain))
    for made, solid in ((grass, False), (glass, True)):
        rows = [g for g in range(made.model.ngeom) if made.model.geom(g).name[:2] in ("gr", "gl")]
        assert rows
        assert all(bool(made.model.geom_contype[g]) == solid for g in rows)


def test_stones_roll_and_the_carpet_slides():
    rubble = body("rubble")
    for _ in range(500):
        rubble.step(hold())
    stone = rubble.model.body("stone0").id
    assert rubble.data.xpos[stone, 2] == pytest.approx(0.05, abs=0.06)
    carpet = body("carpet")
    joint = carpet.model.joint("carpet_x")
    for force, moves in ((50.0, False), (120.0, True)):
        carpet.data.qfrc_applied[joint.dofadr[0]] = force
        before = float(carpet.data.qpos[joint.qposadr[0]])
        for _ in range(200):
            mujoco.mj_step(carpet.model, carpet.data)
        assert (abs(float(carpet.data.qpos[joint.qposadr[0]]) - before) > 0.02) == moves


def test_one_motor_is_weak():
    nominal, weak = body(NOMINAL)._strength, body("weak_motor")._strength
    assert sorted((weak / nominal).round(6).tolist()) == [0.5] + [1.0] * 11


@pytest.mark.parametrize("name", ["pushes", "leg_hit"])
def test_blows_come_and_end(name):
    made = SimulatedRobot(ROBOT, MOTORS, replace(under(SimCfg(), name)), trial("flat", 0.0))
    speeds, forces = [], []
    for _ in range(4000):
        made.step(hold())
        speeds.append(made.data.qvel[:2].copy())
        forces.append(float(np.abs(made.data.xfrc_applied).max()))
    jumps = np.abs(np.diff(speeds, axis=0)).max(1)
    if name == "pushes":
        assert (jumps > 0.2).sum() >= 1
        assert max(forces) == 0
    else:
        hit = np.array(forces) > 0
        assert 0.005 < hit.mean() < 0.3


def test_a_body_is_gone_with_its_last_name():
    """Trial after trial would otherwise keep the memory of many simulators."""
    made = body("pushes")
    made.step(hold())
    told = weakref.ref(made)
    gc.disable()
    try:
        del made
        assert told() is None
    finally:
        gc.enable()
