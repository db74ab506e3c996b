"""Measures a robot under other conditions than those of its training: with the noise and
randomisation of another preset, or with other friction cones."""

from dataclasses import replace

from swap.env import EnvCfg
from swap.errors import UserError
from swap.presets import ParkourCfg
from swap.presets.user_code import preset_from_user
from swap.robots.friction_cone import FrictionCone
from swap.runs.trained_robot import TrainedRobot


def with_randomness(robot: TrainedRobot, preset: str) -> TrainedRobot:
    """The robot as if it had been trained with the randomness of this preset; two robots whose own
    trainings were unequally rough can only be compared like this."""
    found = preset_from_user(preset)
    if not isinstance(found, ParkourCfg):
        raise UserError(f"preset '{preset}' trains no robot; name another, e.g. swap or teacher")
    return replace(robot, cfg=replace(robot.cfg, env=_mixed(robot.cfg.env, found.env)))


def with_friction_cone(robot: TrainedRobot, cone: FrictionCone) -> TrainedRobot:
    """The robot as if it had been trained with these friction cones."""
    env = replace(robot.cfg.env, friction_cone=cone)
    return replace(robot, cfg=replace(robot.cfg, env=env))


def _mixed(own: EnvCfg, other: EnvCfg) -> EnvCfg:
    camera, eye = own.camera, other.camera
    if camera is not None and eye is not None:
        # The pixels and when they come belong to the networks; the rest is chance.
        camera = replace(eye, every=camera.every, optics=camera.optics)
    return replace(own, random=other.random, noise=other.noise, camera=camera)
