"""Defines the reward terms: pure functions of a Frame, one for each row of the paper's table, and
more.

`REWARDS` is the table of functions and equations; `reward_presets` has their weights. `paper-table`
is the paper's own, `paper` adds WMP's two terms against exploits. With both, robots learn to stop
at a wall, because standing there earns longer than falling off it. `teacher` avoids that: the terms
that keep the trunk low, level and calm only count on flat ground, tracking weighs more, and new
ground is rewarded. A term of your own is any function of a Frame, named by an import string: see
docs/extend.md.

The weighted sum is multiplied by the control step and, by default, clipped at zero from below, so
that ending an episode early never pays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from swap.env.frame import Frame
from swap.env.reward_presets import WEIGHTS, RewardPreset
from swap.errors import UserError
from swap.registry import Registry, guarded
from swap.sim import CONTROL_DT

SIGMA = 0.15
"""Width of velocity tracking, (m/s)^2 and (rad/s)^2."""
SIGMA_H = 0.1
"""Width of the height term in static stance, m."""
SIGMA_O = 0.1
"""Width of the orientation term in static stance, rad."""
AIR_S = 0.5
"""Desired air time of a step."""
STUMBLE = 4.0
"""A foot with more sideways force than this times the upward one has run into something."""
SWING_M = 0.1
"""Desired lift of a foot."""
OVERSPEED = 0.25
"""Near obstacles, speed above the command counts only by this factor."""
SLOW = 0.1
"""Commands and speeds below this (m/s, rad/s) count as standing still."""
ASKED_MPS = 0.2
"""Forward commands above this count as a command to move."""
ASTRAY_RAD = 1.0

Reward = Callable[[Frame], Tensor]


# --- the paper's Table ----------------------------------------------------------------------------
def lin_vel_tracking(f: Frame) -> Tensor:
    error = (f.command[:, :2] - f.lin_vel_b[:, :2]).square().sum(1)
    return torch.exp(-error / SIGMA)


def ang_vel_tracking(f: Frame) -> Tensor:
    return torch.exp(-(f.command[:, 2] - f.ang_vel_b[:, 2]).square() / SIGMA)


def static_stance(f: Frame) -> Tensor:
    stance = f.foot_contact.all(1) & (f.command.abs() < SLOW).all(1)
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
    return f.leg_contact.sum(1, dtype=f.action.dtype)


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
    # A gap needs a run-up, however slow the command is.
    ahead = f.command[:, 0] - f.lin_vel_b[:, 0]
    hurry = (ahead < 0) & ~f.flat_ahead & (f.command[:, 0] > ASKED_MPS)
    ahead = torch.where(hurry, OVERSPEED * ahead, ahead)
    error = ahead.square() + (f.command[:, 1] - f.lin_vel_b[:, 1]).square()
    return torch.exp(-error / SIGMA)


def foot_slip(f: Frame) -> Tensor:
    return gait_weight(f) * f.slip_mps.sum(1)


def foot_swing(f: Frame) -> Tensor:
    short = (1 - f.swing_m / SWING_M).clamp(min=0)
    return gait_weight(f) * (short * f.landed).sum(1)


def footfalls(f: Frame) -> Tensor:
    return gait_weight(f) * f.landed.sum(1, dtype=f.action.dtype)


def gait_weight(f: Frame) -> Tensor:
    """[N] in [0, 1]: how much the gait terms count. They count on flat ground only, and grow with
    the level: not at all for a robot that cannot walk yet, which they might teach to stand still;
    fully from half of the levels on."""
    return f.flat * (2 * f.progress).clamp(max=1)


# --- against exploits and stopping at walls -------------------------------------------------------
def stuck(f: Frame) -> Tensor:
    # Signed: with |v_x|, as in WMP, robots learned to creep backwards.
    return ((f.command[:, 0] > ASKED_MPS) & (f.lin_vel_b[:, 0] < SLOW)).float()


def astray(f: Frame) -> Tensor:
    return (f.has_goal & (f.heading_error_rad.abs() > ASTRAY_RAD)).float()


def headway(f: Frame) -> Tensor:
    return f.headway_mps


def body_height_flat(f: Frame) -> Tensor:
    return f.flat * body_height(f)


def vertical_vel_flat(f: Frame) -> Tensor:
    return f.flat * vertical_vel(f)


def orientation_flat(f: Frame) -> Tensor:
    return f.flat * orientation(f)


def roll_pitch(f: Frame) -> Tensor:
    """[N, 2] rad: how far the body's y and x axes are from level. Unlike Euler angles, these are
    also defined for a robot that climbs a wall with its nose straight up."""
    return torch.asin(f.gravity_b[:, :2].clamp(-1, 1)).flip(1)


@dataclass(frozen=True)
class RewardTerm:
    """A reward function with its name, equation and origin."""

    name: str
    """Its name, also in metrics: `reward/NAME`."""
    function: Reward
    equation: str
    origin: str


def accept(found: object, name: str, where: str) -> RewardTerm:
    """Accept a user's or a package's function; the first line of its docstring is its equation."""
    if not callable(found):
        raise UserError(f"{where} is a {type(found).__name__}; make it a function of a Frame")
    function = guarded(found, where)

    def reward(frame: Frame) -> Tensor:
        x, worlds = function(frame), frame.steps
        if not isinstance(x, Tensor) or (x.shape, x.device) != (worlds.shape, worlds.device):
            gives = f"{list(x.shape)} on {x.device}" if isinstance(x, Tensor) else type(x).__name__
            wants = f"{list(worlds.shape)} on {worlds.device}"
            raise UserError(f"{where} gives {gives}; give a tensor {wants}, a number a world")
        return x.to(frame.action.dtype)

    return RewardTerm(name, reward, (found.__doc__ or "").strip().partition("\n")[0], "yours")


REWARDS = Registry(
    "reward",
    "swap.rewards",
    accept,
    how="swap train ... --env.rewards.terms {}=0.5",
    label=lambda term: term.name,
)
for _term in (
    RewardTerm("lin_vel_tracking", lin_vel_tracking, f"exp(-|v_cmd - v|²_xy / {SIGMA:g})", "paper"),
    RewardTerm(
        "lin_vel_tracking_course",
        lin_vel_tracking_course,
        f"the same; near obstacles {OVERSPEED:g} of what v_x is too fast",
        "ours",
    ),
    RewardTerm(
        "ang_vel_tracking", ang_vel_tracking, f"exp(-(ω_cmd - ω)²_yaw / {SIGMA:g})", "paper"
    ),
    RewardTerm(
        "static_stance",
        static_stance,
        f"1{{4 feet down, |c| < {SLOW:g}}} exp(-|Δh| / {SIGMA_H:g}) exp(-|θ| / {SIGMA_O:g})",
        "paper",
    ),
    RewardTerm("body_height", body_height, "(h - h_des)²", "paper"),
    RewardTerm("body_height_flat", body_height_flat, "1{flat} (h - h_des)²", "ours"),
    RewardTerm("vertical_vel", vertical_vel, "v_z²", "paper"),
    RewardTerm("vertical_vel_flat", vertical_vel_flat, "1{flat} v_z²", "ours"),
    RewardTerm("xy_ang_vel", xy_ang_vel, "|ω_xy|²", "paper"),
    RewardTerm("orientation", orientation, "θ_pitch² + θ_roll²", "paper"),
    RewardTerm("orientation_flat", orientation_flat, "1{flat} (θ_pitch² + θ_roll²)", "ours"),
    RewardTerm("collision", collision, "Σ 1{|F| > 0} over thighs and shanks", "paper"),
    RewardTerm("feet_air_time", feet_air_time, f"Σ (t_air - {AIR_S:g}) 1{{landed}}", "paper"),
    RewardTerm("feet_stumble", feet_stumble, f"Σ 1{{|F_xy| > {STUMBLE:g} |F_z|}}", "paper"),
    RewardTerm("abad_angle", abad_angle, "|θ_abad - default|²", "paper"),
    RewardTerm("torque", torque, "|τ|²", "paper"),
    RewardTerm("joint_acc", joint_acc, "|q̈|²", "paper"),
    RewardTerm("power", power, "Σ |τ q̇|", "paper"),
    RewardTerm("action_rate", action_rate, "|a_t - a_t-1|²", "paper"),
    RewardTerm("smoothness", smoothness, "|a_t - 2 a_t-1 + a_t-2|²", "paper"),
    RewardTerm("stuck", stuck, f"1{{c_x > {ASKED_MPS:g}, v_x < {SLOW:g}}}", "WMP"),
    RewardTerm("astray", astray, f"1{{|heading error| > {ASTRAY_RAD:g} rad}}, on courses", "WMP"),
    RewardTerm("foot_slip", foot_slip, "g Σ |v_contact|", "ours"),
    RewardTerm(
        "foot_swing", foot_swing, f"g Σ max(0, 1 - swing / {SWING_M:g}) 1{{landed}}", "ours"
    ),
    RewardTerm("footfalls", footfalls, "g Σ 1{landed}; g = 1{flat} min(1, 2 level)", "ours"),
    RewardTerm("headway", headway, "d/dt min(max x, ∫ c_x + 0.5), on courses", "ours"),
):
    REWARDS.add(_term.name, _term)


class Rewards:
    """Computes the reward from the terms that have a weight; `names` are theirs, in order."""

    def __init__(
        self,
        preset: RewardPreset,
        terms: Mapping[str, float],
        device: torch.device,
        *,
        only_positive: bool = True,
    ) -> None:
        """`terms` replace weights of the preset and add to it. Built-in terms come first, in the
        order of the table, then others, in the order given. With `only_positive` a negative reward
        becomes 0."""
        self._only_positive = only_positive
        weights = {**dict.fromkeys(REWARDS.added, 0.0), **WEIGHTS[preset], **terms}
        chosen = {name: weight for name, weight in weights.items() if weight != 0}
        self._terms = [REWARDS[name] for name in chosen]
        self.names = tuple(term.name for term in self._terms)
        weights_dt = [weight * CONTROL_DT for weight in chosen.values()]
        self._weights = torch.tensor(weights_dt, device=device)[:, None]

    def __call__(self, frame: Frame) -> tuple[Tensor, Tensor]:
        """The reward [N], and the weighted terms [T, N] that it sums."""
        terms = torch.stack([term.function(frame) for term in self._terms]) * self._weights
        total = terms.sum(0)
        return total.clamp_(min=0) if self._only_positive else total, terms
