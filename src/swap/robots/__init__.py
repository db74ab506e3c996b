"""Robots as facts, one file per robot, and the MuJoCo model made from them. Read in this order:

parts -> robot -> apollo, go2 -> registry -> kinematics -> mjcf
"""

from swap.robots.kinematics import feet_in_base, leg_points_in_base
from swap.robots.parts import PARTS, Capsule, Joint, Leg, Link, Motor
from swap.robots.registry import from_user, load, names
from swap.robots.robot import CameraMount, Robot

__all__ = [
    "PARTS",
    "CameraMount",
    "Capsule",
    "Joint",
    "Leg",
    "Link",
    "Motor",
    "Robot",
    "feet_in_base",
    "from_user",
    "leg_points_in_base",
    "load",
    "names",
]
