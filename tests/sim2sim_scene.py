"""A robot of the other simulator, for its tests."""

import numpy as np

from swap.deploy.messages import MotorCommand
from swap.deploy.spec import DepthCameraSpec
from swap.evaluate.success import course_of
from swap.robots import load
from swap.sim2sim.cfg import Trial
from swap.sim2sim.measure import other_motors

ROBOT = load("apollo")
MOTORS = other_motors(ROBOT)
EYE = ROBOT.camera
SPEC = DepthCameraSpec(64, 64, 87.0, 0.15, 5.0, 0.25, EYE.pos, EYE.pitch, (0.06, 0.14))


def trial(family="box", difficulty=0.4, k=0):
    return Trial(course_of(family, difficulty, k, seed=0, side="both"), seed=k)


def hold(kp=300.0, kd=8.0):
    """Hold the default pose, as the motors are listed."""
    names, n = ROBOT.joint_names, len(MOTORS)
    pose = [ROBOT.default_pose[names.index(m.joint)] * m.sign + m.zero_rad for m in MOTORS]
    return MotorCommand(0.0, np.array(pose), np.full(n, kp), np.full(n, kd), np.zeros(n))
