"""A name -> a Robot: built-in files and installed packages; or a file that the user names.

A robot file is code. It is run by `from_user` alone, which is for words of the command line.
"""

import importlib
import runpy
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from swap.errors import UserError, unknown
from swap.robots.robot import Robot

BUILT_IN = ("apollo", "go2")
GROUP = "swap.robots"
"""The entry point group in which an installed package offers robots."""


def names() -> tuple[str, ...]:
    """Every robot that `load` knows by name."""
    return BUILT_IN + tuple(_installed())


def load(name: str) -> Robot:
    """`apollo`, or a robot of an installed package. Runs no file, whoever names it."""
    if name.endswith(".py"):
        raise UserError(
            f"the robot file '{name}' is not run: a file names it, not you; if you trust it, give "
            f"it yourself: swap keep ... --robot {name}, or swap train ... --env.robot {name}"
        )
    if name in BUILT_IN:
        return importlib.import_module(f"swap.robots.{name}").ROBOT
    installed = _installed()
    if name in installed:
        return _checked(installed[name].load(), f"entry point '{name}' of {GROUP}")
    raise unknown("robot", name, names())


def from_user(word: str, say: Callable[[str], None] = print) -> Robot:
    """What the user has named on the command line of this very call: a name, or the path of a .py
    file that defines ROBOT. The file is run, and that is said."""
    if not word.endswith(".py"):
        return load(word)
    path = Path(word)
    if not path.is_file():
        raise UserError(f"no robot file '{path}'; give the path of a .py file that defines ROBOT")
    say(f"running {path}")
    return _from_file(path)


def _installed() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        if point.name in BUILT_IN or point.name in found:
            raise UserError(
                f"entry point '{point.name}' of {GROUP} ({point.value}) repeats a robot's name; "
                "rename it in that package"
            )
        found[point.name] = point
    return found


def _from_file(path: Path) -> Robot:
    try:
        facts = runpy.run_path(str(path))
    except (Exception, SystemExit) as error:  # whatever a user's file does wrong, one line tells it
        told = str(error).splitlines() or [type(error).__name__]
        raise UserError(f"robot file '{path}': {told[0]}") from error
    if "ROBOT" not in facts:
        raise UserError(f"robot file '{path}' defines no ROBOT; end it with ROBOT = Robot(...)")
    return _checked(facts["ROBOT"], f"ROBOT in '{path}'")


def _checked(robot: object, where: str) -> Robot:
    if not isinstance(robot, Robot):
        raise UserError(f"{where} is a {type(robot).__name__}; make it a swap.robots.Robot")
    return robot
