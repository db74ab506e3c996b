"""A robot of a rough training is measured as one of the usual training, or with other friction
cones."""

from dataclasses import replace

import pytest

import tiny_swap
from swap.errors import UserError
from swap.evaluate.env_overrides import with_friction_cone, with_randomness
from swap.evaluate.success import measure
from swap.presets import PRESETS
from swap.runs.trained_robot import untrained
from swap.sensors import OpticsCfg

CALM, ROUGH = tiny_swap.robot(), PRESETS["swap-rough"].env
ENV = replace(CALM.cfg.env, random=ROUGH.random, camera=ROUGH.camera)
HARDY = replace(CALM, cfg=replace(CALM.cfg, env=ENV))


def rows(robot):
    wanted = [("box", 0.2), ("gap", 0.0)]
    return list(measure(robot, wanted, trials=4, speeds_mps=(1.0,), device="cpu", why=True))


def test_two_trainings_are_measured_alike():
    calm, hardy, alike = map(rows, (CALM, HARDY, with_randomness(HARDY, "swap")))
    assert hardy != calm
    assert alike == calm
    assert with_randomness(CALM, "swap-rough").cfg.env == ENV


def test_pixels_stay_those_of_its_networks():
    optics = OpticsCfg(rows=32, cols=32)
    env = replace(ENV, camera=replace(ENV.camera, optics=optics, every=3))
    robot = replace(HARDY, cfg=replace(HARDY.cfg, env=env))
    camera = with_randomness(robot, "swap").cfg.env.camera
    assert (camera.optics, camera.every) == (optics, 3)
    assert camera.noise == PRESETS["swap"].env.camera.noise


def test_a_robot_without_a_camera_gets_none_and_one_with_a_camera_keeps_it():
    assert with_randomness(untrained("teacher"), "swap-rough").cfg.env.camera is None
    assert with_randomness(HARDY, "teacher").cfg.env.camera == HARDY.cfg.env.camera


def test_friction_cones_are_those_asked_for():
    ellipses = with_friction_cone(CALM, "elliptic")
    assert (CALM.cfg.env.friction_cone, ellipses.cfg.env.friction_cone) == ("pyramidal", "elliptic")
    assert with_friction_cone(ellipses, "pyramidal").cfg == CALM.cfg


def test_an_unknown_preset_is_told_in_one_line():
    with pytest.raises(UserError, match="unknown preset 'swop'"):
        with_randomness(CALM, "swop")
