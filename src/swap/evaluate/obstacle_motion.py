"""Measures how a trained robot moves at the edge of a box or gap of a given size.

It measures while the base is near the edge, from NEAR_M before it to PAST_M past it: how evenly
left and right legs carry the load, how often the robot is on one foreleg alone, how much it rolls
and yaws; then the impulse of the take-off, what forelegs and hind legs push before they leave the
ground, and how many robots end standing at the wall.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from swap.courses import FAMILIES, Course, difficulty_of
from swap.env.frame import TOUCH_N, heading_of, into_body
from swap.env.terminations import EndReason
from swap.env.trials import Trials
from swap.errors import UserError
from swap.evaluate.gait import measured
from swap.evaluate.success import Side, course_of, trials_env
from swap.runs.trained_robot import TrainedRobot
from swap.sim import CONTROL_DT

NEAR_M, PAST_M = 1.0, 0.5
PUSH_S = 0.4
"""The impulse of the take-off is the mass times the base's change of velocity over this time before
the hind feet leave the ground; what a pair of legs pushes is the impulse of the forces on it over
this time before its own feet do."""
LOW_M = 0.15
"""A foot whose centre is less than this above the ground counts as on the ground, not on the
wall."""
STOOD_M = 0.3
"""A robot that stood still, no further past the edge than this, counts as standing at the wall."""
EDGES = ("box", "gap", "tilted_box", "tilted_gap")


@dataclass(frozen=True)
class ObstacleMotion:
    """Figures of N trials, [N] each; nan where there was nothing to measure."""

    success: Tensor  # bool
    stalled: Tensor  # bool: stood at the wall in the end
    fore: Tensor  # (left - right) / (left + right) of the forelegs' forces, over time
    hind: Tensor
    one_foreleg: Tensor  # share of the time on forelegs that was on one
    roll: Tensor  # rad, root of the mean square
    yaw: Tensor
    take_off: Tensor  # [N, 2] N s, forward and upward
    fore_push: Tensor  # [N, 2]; forward below 0: the forelegs brace against the edge
    hind_push: Tensor

    def row(self) -> dict[str, Any]:
        """Means over trials, roots of mean squares for angles; None where nothing was measured."""
        means = {
            "success": self.success.float().mean(),
            "fore_index": self.fore.abs().nanmean(),
            "fore_bias": self.fore.nanmean(),
            "hind_index": self.hind.abs().nanmean(),
            "hind_bias": self.hind.nanmean(),
            "one_foreleg": self.one_foreleg.nanmean(),
            "roll_rms_deg": self.roll.square().nanmean().sqrt().rad2deg(),
            "yaw_rms_deg": self.yaw.square().nanmean().sqrt().rad2deg(),
            "stalled": self.stalled.float().mean(),
            "take_off_forward_ns": self.take_off[:, 0].nanmean(),
            "take_off_up_ns": self.take_off[:, 1].nanmean(),
            "fore_forward_ns": self.fore_push[:, 0].nanmean(),
            "fore_up_ns": self.fore_push[:, 1].nanmean(),
            "hind_forward_ns": self.hind_push[:, 0].nanmean(),
            "hind_up_ns": self.hind_push[:, 1].nanmean(),
        }
        return {name: measured(float(x)) for name, x in means.items()}


def near_edge(course: Course) -> float:
    """The x at which the obstacle begins, in m."""
    width = course.size if course.family.endswith("gap") else 0.0
    return course.goal_x - width


def measure(
    robot: TrainedRobot,
    family: str,
    sizes: Sequence[float],
    *,
    speeds_mps: Sequence[float],
    trials: int,
    device: str,
    seed: int = 0,
    side: Side = "both",
    tilt_deg: tuple[float, float] | None = None,
) -> Iterator[dict[str, Any]]:
    """Returns a row for each speed and size."""
    if family not in EDGES:
        raise UserError(f"'{family}' has no edge to take off from; use {', '.join(EDGES)}")
    tilt_deg = tilt_deg or robot.cfg.env.tilt_deg
    for speed in speeds_mps:
        for size in sizes:
            difficulty = difficulty_of(family, size)
            courses = [
                course_of(family, difficulty, k, seed=seed, side=side, tilt_deg=tilt_deg)
                for k in range(trials)
            ]
            env = trials_env(robot.cfg.env, courses, speed, device, seed)
            row = {"gait": robot.name, "family": family, "size": size}
            row |= {"unit": FAMILIES[family].size.unit, "command_mps": speed, "trials": trials}
            yield row | observe(robot, env, courses).row()


@torch.no_grad()
def observe(robot: TrainedRobot, env: Trials, courses: Sequence[Course]) -> ObstacleMotion:
    """Runs one trial in each world, to its end."""
    agent, obs = robot.agent_for(env), env.reset()
    watch = EdgeWatch(env, courses)
    for _ in range(env.cfg.episode_steps + 1):
        running = ~env.trials.idle
        obs = env.step(agent.act(obs)).obs
        watch.add(running)
        if env.finished:
            break
    return watch.result()


class EdgeWatch:
    """Adds up what robots do near the edge, control step by control step."""

    def __init__(self, env: Trials, courses: Sequence[Course]) -> None:
        self.env, n, device = env, env.n, env.device
        legs = env.robot.legs
        self._fore = torch.tensor([leg.mount[0] > 0 for leg in legs], device=device)
        self._left = torch.tensor([leg.mount[1] > 0 for leg in legs], device=device)
        self._edge = torch.tensor([near_edge(c) for c in courses], device=device)
        banks = [c.goal_tilt if c.family == "tilted_gap" else 0.0 for c in courses]
        self._bank = torch.tensor(banks, device=device)  # slope of the near ground, in y
        self._load = torch.zeros(n, len(legs), device=device)
        self._steps, self._on_fore, self._on_one = torch.zeros(3, n, device=device)
        self._roll2, self._yaw2 = torch.zeros(2, n, device=device)
        self._past_vel: list[Tensor] = []
        self._past_push: list[Tensor] = []
        self._gained = torch.full((n, 2), torch.nan, device=device)
        self._pushed = torch.full((n, 2, 2), torch.nan, device=device)  # [N, fore or hind, x or z]

    def add(self, running: Tensor) -> None:
        """Adds a control step of the robots that were `running` [N]."""
        state = self.env.engine.state
        x = state.base_pos[:, 0] - self._edge
        near = running & (x > -NEAR_M) & (x < PAST_M)
        force = state.foot_force + state.thigh_force + state.shank_force  # [N, 4, 3], by leg
        load = force.norm(dim=-1)
        self._load += load * near[:, None] * CONTROL_DT
        carrying = ((load > TOUCH_N) & self._fore).sum(1)
        self._steps += near
        self._on_fore += near & (carrying > 0)
        self._on_one += near & (carrying == 1)
        down = torch.tensor([0.0, 0.0, -1.0], device=x.device).expand(len(x), 1, 3)
        roll = torch.asin(into_body(state.base_quat, down)[:, 0, 1].clamp(-1, 1))
        self._roll2 += near * roll.square()
        self._yaw2 += near * heading_of(state.base_quat).square()
        self._push(running, force[..., [0, 2]] * CONTROL_DT)

    def _push(self, running: Tensor, push: Tensor) -> None:
        """Moves the take-off to the present for robots with a foot on the near ground; `push` [N,
        4, 2] is the impulse on each leg in this step, forward and upward."""
        state, vel = self.env.engine.state, self.env.engine.state.base_lin_vel[:, [0, 2]]
        steps = round(PUSH_S / CONTROL_DT)
        self._past_vel = [*self._past_vel, vel.clone()][-steps - 1 :]
        by_pair = torch.stack([push[:, self._fore].sum(1), push[:, ~self._fore].sum(1)], 1)
        self._past_push = [*self._past_push, by_pair][-steps:]
        foot = state.foot_pos
        above = foot[..., 2] - foot[..., 1] * self._bank[:, None]
        here = (foot[..., 0] < self._edge[:, None]) & (above < LOW_M)
        stands = here & (state.foot_force.norm(dim=-1) > TOUCH_N) & running[:, None]
        pair = torch.stack([(stands & self._fore).any(1), (stands & ~self._fore).any(1)], 1)
        self._gained = torch.where(pair[:, 1:], vel - self._past_vel[0], self._gained)
        pushed = torch.stack(self._past_push).sum(0)
        self._pushed = torch.where(pair[..., None], pushed, self._pushed)

    def result(self) -> ObstacleMotion:
        outcome = self.env.outcome()
        stood = (outcome.reason == int(EndReason.STALLED)) | (outcome.reason == int(EndReason.TIME))
        x = outcome.far_m - self._edge
        mass = self.env.robot.mass + self.env.engine.drawn.payload
        left = x.new_full((), torch.nan)
        crossed = torch.where(x > 0, 1.0, left)[:, None]  # the others never took off
        return ObstacleMotion(
            success=outcome.success,
            stalled=stood & (x > -NEAR_M) & (x < STOOD_M),
            fore=self._index(self._fore),
            hind=self._index(~self._fore),
            one_foreleg=self._on_one / self._on_fore,
            roll=(self._roll2 / self._steps).sqrt(),
            yaw=(self._yaw2 / self._steps).sqrt(),
            take_off=self._gained * mass[:, None] * crossed,
            fore_push=self._pushed[:, 0] * crossed,
            hind_push=self._pushed[:, 1] * crossed,
        )

    def _index(self, legs: Tensor) -> Tensor:
        left, right = (self._load[:, legs & side].sum(1) for side in (self._left, ~self._left))
        return (left - right) / (left + right)
