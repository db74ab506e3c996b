"""Finds a Robot by name: built-in files, installed packages, or code that the user names.

A robot file is code. It is run by `from_user` alone, which is for words of the command line.
"""

from swap.registry import Registry, Say, instance_of
from swap.robots.robot import Robot

BUILT_IN = {"apollo": "swap.robots.apollo:ROBOT", "go2": "swap.robots.go2:ROBOT"}
ROBOTS = Registry(
    "robot",
    "swap.robots",
    instance_of(Robot, "swap.robots.Robot"),
    how="swap keep ... --robot {}, or swap train ... --env.robot {}",
    built_in=BUILT_IN,
    attribute="ROBOT",
)


def names() -> tuple[str, ...]:
    """Every robot that `load` knows by name."""
    return tuple(ROBOTS)


def load(name: str) -> Robot:
    """`apollo`, or a robot of an installed package. Runs no file, whoever names it."""
    return ROBOTS[name]


def from_user(word: str, say: Say = print) -> Robot:
    """What the user has named on the command line of this very call: a name, the path of a .py file
    that defines ROBOT, or an import string. Code is run, and that is said."""
    return ROBOTS.from_user(word, say)
