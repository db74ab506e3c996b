"""Puts the whole robot, as data, into the config of a run.

Checkpoints and cards hold every fact of their robot, and nothing else is read: code that a file
names is never run. A user may name another robot than the stored one; the differences are printed.
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
"""Up to this many differences between two robots are printed one by one."""


def with_robot(cfg: C, named: str | None = None, say: Say = print) -> C:
    """Returns the config with its robot as data: the one that the user has `named` on the command
    line, which may be a file to run; otherwise the stored one; otherwise, in older configs, the
    known one of that name."""
    if not isinstance(cfg, ParkourCfg):
        return cfg
    env = cfg.env
    name, robot = (env.robot, env.load_robot()) if named is None else (named, from_user(named, say))
    return replace(cfg, env=replace(env, robot=name, robot_data=as_data(robot)))


def as_data(robot: Robot) -> Robot:
    """Rebuilds a robot from what a checkpoint will hold of it, because a user's file may have used
    numpy numbers or a subclass."""
    try:
        return from_json(Robot, json.loads(json.dumps(to_json(robot))), "robot")
    except TypeError as error:
        raise UserError(f"robot '{robot.name}' cannot be stored ({error}); use floats") from None


def print_robot_changes(old: TrainCfg, new: TrainCfg, named: str | None, say: Say) -> None:
    """Prints how the robot in use differs from the stored one or, if it is the stored one, from the
    built-in one of the same name. A file that the user has not `named` is not read and may have
    been edited since; that is printed, too."""
    if not isinstance(old, ParkourCfg) or not isinstance(new, ParkourCfg):
        return
    stored, used = old.env.robot_data, new.env.robot_data
    if stored is None or used is None:
        return
    if named is None and is_code(new.env.robot):
        file = printable(new.env.robot)
        say(f"the stored robot goes on, {file} is not read; --env.robot {file} takes it as it is")
    elif stored != used:
        print_changes(differences(stored, used), say)
    elif new.env.robot in BUILT_IN and (since := differences(stored, load(new.env.robot))):
        print_changes(since, say)
        say(f"the stored robot goes on; --env.robot {new.env.robot} takes the changed one")


def print_changes(lines: list[str], say: Say) -> None:
    for line in lines[:FEW]:
        say(f"changed: {printable(line)}")
    if (more := len(lines) - FEW) > 0:
        say(f"changed: {more} more facts of the robot")


def differences(old: Robot, new: Robot) -> list[str]:
    """`robot.kp 300.0 -> 30000.0`, fact by fact."""
    return changes(to_json(old), to_json(new), "robot")
