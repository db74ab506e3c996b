"""Puts the whole robot, as data, into the config of a run.

Checkpoints and cards hold every fact of their robot and are read from these alone: what a file
names is never run. Another robot than the stored one is what the user names, and is told.
"""

import json
from dataclasses import replace
from typing import TypeVar

from swap.errors import UserError, printable
from swap.presets.parkour import ParkourCfg
from swap.presets.table import TrainCfg
from swap.registry import Say, is_code
from swap.robots import Robot, from_user, load
from swap.robots.registry import BUILT_IN
from swap.runs.config import changes, from_json, to_json

C = TypeVar("C", bound=TrainCfg)
FEW = 8
"""So many differences of two robots are told one by one."""


def with_robot(cfg: C, named: str | None = None, say: Say = print) -> C:
    """The robot is what the user has `named` on the command line, which may be a file to run;
    otherwise the stored one; otherwise, in configs of before, the known one of that name."""
    if not isinstance(cfg, ParkourCfg):
        return cfg
    env = cfg.env
    name, robot = (env.robot, env.load_robot()) if named is None else (named, from_user(named, say))
    return replace(cfg, env=replace(env, robot=name, robot_data=as_data(robot)))


def as_data(robot: Robot) -> Robot:
    """The same, built from what a checkpoint will hold of it: a user's file may have made it of
    numpy's numbers, or a subclass."""
    try:
        return from_json(Robot, json.loads(json.dumps(to_json(robot))), "robot")
    except TypeError as error:
        raise UserError(f"robot '{robot.name}' cannot be stored ({error}); use floats") from None


def tell_robot(old: TrainCfg, new: TrainCfg, named: str | None, say: Say) -> None:
    """What differs between the stored robot and the one that is used, or, where that is the stored
    one, the built-in of the same name. A file that nobody has `named` is not looked at, and may
    have been edited since: that is told, too."""
    if not isinstance(old, ParkourCfg) or not isinstance(new, ParkourCfg):
        return
    stored, used = old.env.robot_data, new.env.robot_data
    if stored is None or used is None:
        return
    if named is None and is_code(new.env.robot):
        file = printable(new.env.robot)
        say(f"the stored robot goes on, {file} is not read; --env.robot {file} takes it as it is")
    elif stored != used:
        tell(differences(stored, used), say)
    elif new.env.robot in BUILT_IN and (since := differences(stored, load(new.env.robot))):
        tell(since, say)
        say(f"the stored robot goes on; --env.robot {new.env.robot} takes the changed one")


def tell(lines: list[str], say: Say) -> None:
    for line in lines[:FEW]:
        say(f"changed: {printable(line)}")
    if (more := len(lines) - FEW) > 0:
        say(f"changed: {more} more facts of the robot")


def differences(old: Robot, new: Robot) -> list[str]:
    """`robot.kp 300.0 -> 30000.0`, fact by fact."""
    return changes(to_json(old), to_json(new), "robot")
