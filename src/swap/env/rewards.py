"""A Frame in, a reward for each world out: one pure function a row of the paper's Table.

`REWARDS` is the table: functions, equations and the weights of two presets. `paper` is the paper's
own, with the two terms against exploits that WMP adds. As it stands the wall is a trap: standing at
it outlives falling off it. `teacher` is what got out of it: the terms that hold the trunk low,
level and calm only count on flat ground, tracking weighs more, and new ground pays.

The sum is weighted, multiplied by the control step and clipped at zero from below, so that ending
an episode early can never pay.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from swap.env.frame import Frame
from swap.sim import CONTROL_DT

SIGMA = 0.15
"""Of velocity tracking, (m/s)^2 and (rad/s)^2."""
SIGMA_H = 0.1
"""Of the height in static stance, m."""
SIGMA_O = 0.1
"""Of the orientation in static stance, rad."""
AIR_S = 0.5
"""A step should be this long in the air."""
STUMBLE = 4.0
"""A foot with more sideways force than this times the upward one has run into something."""
SWING_M = 0.1
"""A foot should be lifted this high."""
HURRY = 0.25
"""Before and on an obstacle, what a robot is too fast counts so much as what it is too slow."""
SLOW = 0.1
"""Commands and speeds below this (m/s, rad/s) are standing still."""
ASKED_MPS = 0.2
"""Forward commands above this ask for motion."""
ASTRAY_RAD = 1.0

RewardPreset = Literal["paper", "teacher"]
Reward = Callable[[Frame], Tensor]


# --- the paper's Table ----------------------------------------------------------------------------
def lin_vel_tracking(f: Frame) -> Tensor:
    error = (f.command[:, :2] - f.lin_vel_b[:, :2]).square().sum(1)
    return torch.exp(-error / SIGMA)


def ang_vel_tracking(f: Frame) -> Tensor:
    return torch.exp(-(f.command[:, 2] - f.ang_vel_b[:, 2]).square() / SIGMA)


def static_stance(f: Frame) -> Tensor:
    stance = f.standing.all(1) & (f.command.abs() < SLOW).all(1)
    low = f.height_error_m.abs() / SIGMA_H + roll_pitch(f).norm(dim=1) / SIGMA_O
    return stance * torch.exp(-low)


def body_height(f: Frame) -> Tensor:
    return f.height_error_m.square()


def vertical_vel(f: Frame) -> Tensor:
    return f.lin_vel_b[:, 2].square()


def xy_ang_vel(f: Frame) -> Tensor:
    return f.ang_vel_b[:, :2].square().sum(1)


def orientation(f: Frame) -> Tensor:
    return roll_pitch(f).square().sum(1)


def collision(f: Frame) -> Tensor:
    return f.hit.sum(1, dtype=f.action.dtype)


def feet_air_time(f: Frame) -> Tensor:
    return ((f.air_s - AIR_S) * f.landed).sum(1)


def feet_stumble(f: Frame) -> Tensor:
    sideways, upward = f.foot_force[..., :2].norm(dim=-1), f.foot_force[..., 2].abs()
    return (sideways > STUMBLE * upward).sum(1, dtype=f.action.dtype)


def abad_angle(f: Frame) -> Tensor:
    return f.abad_pos.square().sum(1)


def torque(f: Frame) -> Tensor:
    return f.torque.square().sum(1)


def joint_acc(f: Frame) -> Tensor:
    return f.joint_acc.square().sum(1)


def power(f: Frame) -> Tensor:
    return (f.torque * f.joint_vel).abs().sum(1)


def action_rate(f: Frame) -> Tensor:
    return (f.action - f.last_action).square().sum(1)


def smoothness(f: Frame) -> Tensor:
    return (f.action - 2 * f.last_action + f.older_action).square().sum(1)


# --- how to walk ----------------------------------------------------------------------------------
def lin_vel_tracking_course(f: Frame) -> Tensor:
    # A gap wants a run-up, however slowly the robot was told to go.
    ahead = f.command[:, 0] - f.lin_vel_b[:, 0]
    hurry = (ahead < 0) & ~f.clear & (f.command[:, 0] > ASKED_MPS)
    ahead = torch.where(hurry, HURRY * ahead, ahead)
    error = ahead.square() + (f.command[:, 1] - f.lin_vel_b[:, 1]).square()
    return torch.exp(-error / SIGMA)


def foot_slip(f: Frame) -> Tensor:
    return able(f) * f.slip_mps.sum(1)


def foot_swing(f: Frame) -> Tensor:
    short = (1 - f.swing_m / SWING_M).clamp(min=0)
    return able(f) * (short * f.landed).sum(1)


def footfalls(f: Frame) -> Tensor:
    return able(f) * f.landed.sum(1, dtype=f.action.dtype)


def able(f: Frame) -> Tensor:
    """[N] in [0, 1]: how much of a good gait is asked for. On flat ground only; nothing of a robot
    that cannot walk yet, which these terms might teach to stand; all of one half way up."""
    return f.flat * (2 * f.progress).clamp(max=1)


# --- against exploits and the trap at the wall ----------------------------------------------------
def stuck(f: Frame) -> Tensor:
    # Signed: with |v_x|, as WMP has it, creeping backwards is a way out, and robots found it.
    return ((f.command[:, 0] > ASKED_MPS) & (f.lin_vel_b[:, 0] < SLOW)).float()


def astray(f: Frame) -> Tensor:
    return (f.course & (f.heading_error_rad.abs() > ASTRAY_RAD)).float()


def headway(f: Frame) -> Tensor:
    return f.headway_mps


def body_height_flat(f: Frame) -> Tensor:
    return f.flat * body_height(f)


def vertical_vel_flat(f: Frame) -> Tensor:
    return f.flat * vertical_vel(f)


def orientation_flat(f: Frame) -> Tensor:
    return f.flat * orientation(f)


def roll_pitch(f: Frame) -> Tensor:
    """[N, 2] rad: how far the body's y and x axes are from level. Unlike Euler angles these stay
    defined with the nose straight up, where a robot that climbs a wall is."""
    return torch.asin(f.gravity_b[:, :2].clamp(-1, 1)).flip(1)


@dataclass(frozen=True)
class RewardTerm:
    """One row of the table."""

    name: str
    function: Reward
    equation: str
    origin: str
    paper: float
    """Weights of the two presets; 0 leaves the term out."""
    teacher: float

    def weight(self, preset: RewardPreset) -> float:
        return self.paper if preset == "paper" else self.teacher


REWARDS = (
    RewardTerm(
        "lin_vel_tracking", lin_vel_tracking, "exp(-|v_cmd - v|²_xy / 0.15)", "paper", 1.0, 0.0
    ),
    RewardTerm(
        "lin_vel_tracking_course",
        lin_vel_tracking_course,
        "the same; near obstacles a quarter of what v_x is too fast",
        "ours",
        0.0,
        1.5,
    ),
    RewardTerm(
        "ang_vel_tracking", ang_vel_tracking, "exp(-(ω_cmd - ω)²_yaw / 0.15)", "paper", 0.5, 0.5
    ),
    RewardTerm(
        "static_stance",
        static_stance,
        "1{4 feet down, |c| < 0.1} exp(-|Δh| / 0.1) exp(-|θ| / 0.1)",
        "paper",
        1.0,
        1.0,
    ),
    RewardTerm("body_height", body_height, "(h - h_des)²", "paper", -5.0, 0.0),
    RewardTerm("body_height_flat", body_height_flat, "1{flat} (h - h_des)²", "ours", 0.0, -5.0),
    RewardTerm("vertical_vel", vertical_vel, "v_z²", "paper", -1.0, 0.0),
    RewardTerm("vertical_vel_flat", vertical_vel_flat, "1{flat} v_z²", "ours", 0.0, -1.0),
    RewardTerm("xy_ang_vel", xy_ang_vel, "|ω_xy|²", "paper", -0.05, -0.05),
    RewardTerm("orientation", orientation, "θ_pitch² + θ_roll²", "paper", -0.2, 0.0),
    RewardTerm(
        "orientation_flat", orientation_flat, "1{flat} (θ_pitch² + θ_roll²)", "ours", 0.0, -0.2
    ),
    RewardTerm("collision", collision, "Σ 1{|F| > 0} over thighs and shanks", "paper", -1.0, -1.0),
    RewardTerm("feet_air_time", feet_air_time, "Σ (t_air - 0.5) 1{landed}", "paper", 0.5, 0.5),
    RewardTerm("feet_stumble", feet_stumble, "Σ 1{|F_xy| > 4 |F_z|}", "paper", -0.1, -0.1),
    RewardTerm("abad_angle", abad_angle, "|θ_abad - default|²", "paper", -1.0, -1.0),
    RewardTerm("torque", torque, "|τ|²", "paper", -1e-6, -1e-6),
    RewardTerm("joint_acc", joint_acc, "|q̈|²", "paper", -5e-7, -5e-7),
    RewardTerm("power", power, "Σ |τ q̇|", "paper", -1e-6, -1e-6),
    RewardTerm("action_rate", action_rate, "|a_t - a_t-1|²", "paper", -0.01, -0.01),
    RewardTerm("smoothness", smoothness, "|a_t - 2 a_t-1 + a_t-2|²", "paper", -4e-3, -4e-3),
    RewardTerm("stuck", stuck, "1{c_x > 0.2, v_x < 0.1}", "WMP", -1.0, -1.0),
    RewardTerm("astray", astray, "1{|heading error| > 1 rad}, on courses", "WMP", -1.0, -1.0),
    RewardTerm("foot_slip", foot_slip, "g Σ |v_contact|", "ours", 0.0, -1.5),
    RewardTerm(
        "foot_swing", foot_swing, "g Σ max(0, 1 - swing / 0.1) 1{landed}", "ours", 0.0, -4.0
    ),
    RewardTerm(
        "footfalls", footfalls, "g Σ 1{landed}; g = 1{flat} min(1, 2 level)", "ours", 0.0, -2.0
    ),
    RewardTerm("headway", headway, "d/dt min(max x, ∫ c_x + 0.5), on courses", "ours", 0.0, 2.0),
)


class Rewards:
    """The terms of a preset that have a weight; `names` in order."""

    def __init__(
        self, preset: RewardPreset, weights: Mapping[str, float], device: torch.device
    ) -> None:
        chosen = {row.name: weights.get(row.name, row.weight(preset)) for row in REWARDS}
        self._rows = [row for row in REWARDS if chosen[row.name] != 0]
        self.names = tuple(row.name for row in self._rows)
        weights_dt = [chosen[name] * CONTROL_DT for name in self.names]
        self._weights = torch.tensor(weights_dt, device=device)[:, None]

    def __call__(self, frame: Frame) -> tuple[Tensor, Tensor]:
        """The reward [N], and the weighted terms [T, N] it is the clipped sum of."""
        terms = torch.stack([row.function(frame) for row in self._rows]) * self._weights
        return terms.sum(0).clamp_(min=0), terms
