"""Finds a Robot by name: built-in files, installed packages, or code that the user names.

A robot file is code. Only `from_user` runs it, which takes what the user typed on the command line.
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
    """Return a built-in robot (`apollo`) or one of an installed package. It never runs a file."""
    return ROBOTS[name]


def from_user(word: str, say: Say = print) -> Robot:
    """Return the robot that the user named on this command line: by name, by the path of a .py file
    that defines ROBOT, or by an import string. It runs that code and tells the user so."""
    return ROBOTS.from_user(word, say)
