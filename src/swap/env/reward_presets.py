"""Lists the weights of each reward preset."""

from typing import Literal

RewardPreset = Literal["none", "paper-table", "paper", "teacher", "tiny"]
_PAPER_TABLE = {
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
_TEACHER = {
    "lin_vel_tracking_course": 1.5,
    "ang_vel_tracking": 0.5,
    "static_stance": 1.0,
    "body_height_flat": -5.0,
    "vertical_vel_flat": -1.0,
    "xy_ang_vel": -0.05,
    "orientation_flat": -0.2,
    "collision": -1.0,
    "feet_air_time": 0.5,
    "feet_stumble": -0.1,
    "abad_angle": -1.0,
    "torque": -1e-6,
    "joint_acc": -5e-7,
    "power": -1e-6,
    "action_rate": -0.01,
    "smoothness": -4e-3,
    "stuck": -1.0,
    "astray": -1.0,
    "foot_slip": -1.5,
    "foot_swing": -4.0,
    "footfalls": -2.0,
    "headway": 2.0,
}
WEIGHTS: dict[RewardPreset, dict[str, float]] = {
    "none": {},  # for users who give all terms themselves
    "paper-table": _PAPER_TABLE,
    "paper": {**_PAPER_TABLE, "stuck": -1.0, "astray": -1.0},
    "teacher": _TEACHER,
    # A laptop has no time to learn a good gait too.
    "tiny": {
        k: x for k, x in _TEACHER.items() if k not in ("foot_slip", "foot_swing", "footfalls")
    },
}
"""The weights of each preset; terms that are not listed are not used."""
