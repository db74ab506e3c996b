"""The paper's Table III, typed a second time: the oracle of the reward presets."""

TABLE = {
    "lin_vel_tracking": 1.0,
    "ang_vel_tracking": 0.5,
    "static_stance": 1.0,
    "body_height": -5.0,
    "vertical_vel": -1.0,
    "xy_ang_vel": -0.05,
    "orientation": -0.2,
    "collision": -1.0,
    "feet_air_time": 0.5,
    "feet_stumble": -0.1,
    "abad_angle": -1.0,
    "torque": -1e-6,
    "joint_acc": -5e-7,
    "power": -1e-6,
    "action_rate": -0.01,
    "smoothness": -4e-3,
}
"""Its rows in their order."""
