"""How much motors damp: training's physics steps against motors that compute torque at 1 kHz."""

import mujoco
import numpy as np

from swap.presets import get_preset
from swap.robots import load
from swap.robots.mjcf import build_spec


def kicked(joint, step_s, kd=1.0):
    """The angle of a joint every 5 ms after a kick in the air, with motors that compute their
    torque at every physics step."""
    robot = load("apollo")
    spec = build_spec(robot, slots=1)
    spec.option.timestep, spec.option.gravity = step_s, (0, 0, 0)
    model = spec.compile()
    data, pose, angles = mujoco.MjData(model), np.array(robot.default_pose), []
    data.qpos[2], data.qpos[3], data.qpos[7:19] = 50, 1, pose
    data.qvel[6 + joint] = 6.0
    for step in range(1, round(0.12 / step_s) + 1):
        data.ctrl[:] = robot.kp * (pose - data.qpos[7:19]) - kd * robot.kd * data.qvel[6:18]
        mujoco.mj_step(model, data)
        if step % round(0.005 / step_s) == 0:
            angles.append(data.qpos[7 + joint])
    return np.array(angles)


def test_a_leg_in_the_air_is_damped_more_in_steps_of_5_ms_than_at_1_khz():
    """What kd in steps of 0.2 ms gives the same motion; `Ranges.damping` covers the difference."""
    kds = np.arange(1.0, 1.61, 0.02)
    for joint, name in ((1, "hip"), (2, "knee")):
        exact = [kicked(joint, 2e-4, kd) for kd in kds]

        def alike(step_s, joint=joint, exact=exact):
            found = kicked(joint, step_s)
            return kds[np.argmin([np.abs(found - angles).mean() for angles in exact])]

        training, motors = alike(0.005), alike(0.001)
        assert 1.3 <= training <= 1.6, name
        assert 1.0 <= motors <= 1.15, name
        low, high = get_preset("swap-rough").env.random.ranges.damping
        assert low <= motors / training <= high, name
