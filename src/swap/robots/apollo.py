"""Apollo-class quadruped, the default robot: 72 kg, hip to hip 0.70 m, hip height 0.55 m.

The paper's robot has no public model. From the paper: L = 0.70 m and H = 0.55 m (normalisation of
its comparison table), h_des = 0.6 m. From the public facts of Unitree B2, a robot of the same
class (unitree_ros, b2_description): links 0.35 m, abad offset 0.12 m, joint ranges, peak torques
200/200/320 Nm, armature. We made hip and knee motors stronger than B2's: a 1.63 m climb needs about
285 Nm at each hind knee.
"""

from swap.robots.parts import Capsule, Joint, Leg, Link, Motor
from swap.robots.robot import CameraMount, Robot
from swap.symmetry import PITCH, ROLL

ABAD = Joint("abad", ROLL, (-0.87, 0.87), 0.0, Motor(200.0, 23.0, armature=0.08, damping=0.3))
HIP = Joint("hip", PITCH, (-1.2, 3.6), 0.84, Motor(280.0, 25.0, armature=0.10, damping=0.3))
KNEE = Joint("knee", PITCH, (-2.75, -0.45), -1.5, Motor(360.0, 20.0, armature=0.14, damping=0.3))

FL = Leg(
    name="FL",
    # The base frame is the centre of the trunk, 5 cm above the hip axes: a hip height of
    # 0.55 m and a desired base height of 0.6 m are then the same stance.
    mount=(0.35, 0.075, -0.05),
    offset=0.12,
    thigh=0.35,
    shank=0.35,
    joints=(ABAD, HIP, KNEE),
    links=(
        Link(2.6, com=(-0.01, 0.01, 0.0), box=(0.13, 0.12, 0.13)),
        Link(4.7, com=(0.0, -0.03, -0.06), box=(0.14, 0.10, 0.30)),
        Link(0.75, com=(0.0, 0.0, -0.16), box=(0.05, 0.04, 0.38)),
    ),
    thigh_radius=0.05,
    shank_radius=0.028,
    foot_radius=0.040,
)
RL = Leg(
    name="RL",
    mount=(-0.35, 0.075, -0.05),
    offset=FL.offset,
    thigh=FL.thigh,
    shank=FL.shank,
    joints=FL.joints,
    links=FL.links,
    thigh_radius=FL.thigh_radius,
    shank_radius=FL.shank_radius,
    foot_radius=FL.foot_radius,
)

ROBOT = Robot(
    name="apollo",
    legs=(FL, FL.mirrored("FR"), RL, RL.mirrored("RR")),
    trunk=Link(39.8, com=(0.03, 0.0, 0.0), box=(0.80, 0.28, 0.18)),
    # Three capsules side by side: 0.92 x 0.34 x 0.20 m, with dips of 6 mm between them.
    trunk_shapes=tuple(
        Capsule((-0.36, y, 0.0), (0.36, y, 0.0), radius=0.10) for y in (-0.07, 0.0, 0.07)
    ),
    camera=CameraMount(pos=(0.47, 0.0, 0.04), pitch=0.35),
    kp=300.0,
    kd=8.0,
    action_scale=0.3,
    h_des=0.6,
    note="Apollo-class, from the paper's sizes and the class of Unitree B2",
)
