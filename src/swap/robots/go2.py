"""Unitree Go2: 15.2 kg, hip to hip 0.387 m; an example of a robot in one file.

Masses, centres of mass, sizes, ranges, peak torques and speeds come from Unitree's public
description (unitree_ros, go2_description), armature and damping from MuJoCo Menagerie's
unitree_go2. Boxes of equal inertia are computed from its inertia tensors and rounded. The gains are
those commonly used in training.
"""

from dataclasses import replace

from swap.robots.parts import Capsule, Joint, Leg, Link, Motor
from swap.robots.robot import CameraMount, Robot
from swap.symmetry import PITCH, ROLL

# The knee is driven by the same motor through a linkage of 1.917.
MOTOR = Motor(23.7, 30.1, armature=0.01, damping=0.1)
KNEE_MOTOR = Motor(45.43, 15.7, armature=0.01, damping=0.1)

ABAD = Joint("abad", ROLL, (-1.0472, 1.0472), 0.0, MOTOR)
FRONT_HIP = Joint("hip", PITCH, (-1.5708, 3.4907), 0.88, MOTOR)
REAR_HIP = replace(FRONT_HIP, range=(-0.5236, 4.5379))
KNEE = Joint("knee", PITCH, (-2.7227, -0.83776), -1.6, KNEE_MOTOR)

FL = Leg(
    name="FL",
    mount=(0.1934, 0.0465, 0.0),
    offset=0.0955,
    thigh=0.213,
    shank=0.213,
    joints=(ABAD, FRONT_HIP, KNEE),
    links=(
        Link(0.678, com=(-0.0054, 0.0019, 0.0), box=(0.094, 0.059, 0.071)),
        Link(1.152, com=(-0.0037, -0.0223, -0.0327), box=(0.073, 0.075, 0.235)),
        Link(0.241, com=(0.006, 0.0, -0.1414), box=(0.026, 0.045, 0.268)),
    ),
    thigh_radius=0.025,
    shank_radius=0.014,
    foot_radius=0.022,
)
RL = replace(
    FL,
    name="RL",
    mount=(-0.1934, 0.0465, 0.0),
    joints=(ABAD, REAR_HIP, KNEE),
    links=(Link(0.678, com=(0.0054, 0.0019, 0.0), box=FL.links[0].box), *FL.links[1:]),
)

ROBOT = Robot(
    name="go2",
    legs=(FL, FL.mirrored("FR"), RL, RL.mirrored("RR")),
    trunk=Link(6.921, com=(0.021, 0.0, -0.005), box=(0.396, 0.162, 0.127)),
    trunk_shapes=(
        *(Capsule((-0.16, y, 0.0), (0.16, y, 0.0), radius=0.057) for y in (-0.04, 0.0, 0.04)),
        Capsule((0.285, 0.0, 0.01), (0.285, 0.0, 0.01), radius=0.045),  # head
    ),
    camera=CameraMount(pos=(0.32, 0.0, 0.03), pitch=0.35),
    kp=40.0,
    kd=1.0,
    action_scale=0.25,
    h_des=0.3,
    note="Unitree Go2",
)
