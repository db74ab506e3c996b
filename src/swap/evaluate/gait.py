"""Measures how a trained robot walks on flat ground, speed by speed, beside its reference gaits.

Every world has one episode with mean actions and a fixed command, with the noise, randomisation and
scattered starts of training, but without pushes. The first seconds are left out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from swap.courses import make
from swap.courses.flat import REACH_M
from swap.env import Trials
from swap.env.frame import TOUCH_N
from swap.env.terminations import GRAVITY
from swap.errors import UserError
from swap.evaluate.footfalls import GaitRecording, footfalls, rate
from swap.motions import Clip, get_gait, scaled
from swap.motions.effort import torques
from swap.motions.library import commands, feasible_clip
from swap.robots import Robot
from swap.robots.kinematics import leg_points_in_world
from swap.runs.trained_robot import TrainedRobot
from swap.sim import CONTROL_DT, engine_for

SETTLE_S = 2.0
"""Seconds left out at the start, while the robot accelerates."""
ROOM_M = 5.0
"""Metres kept free before the end of the ground."""
REFERENCES = ("walk", "trot", "bound")
CLIP_S = 15.0
CYCLES = 10
"""Whole cycles of a clip that are measured, so that each foot steps equally often..."""
CUT = 0.1
"""...from this phase on, at which no foot comes down."""

Row = dict[str, Any]


def measure(
    robot: TrainedRobot,
    speeds_mps: Sequence[float],
    *,
    robots: int,
    seconds: float,
    device: str,
    seed: int = 0,
    feet: bool = False,
) -> Iterator[list[Row]]:
    """Returns the rows of each speed: one of all feet, and with `feet` one of each foot."""
    check(speeds_mps, robots, seconds)
    for speed in speeds_mps:
        record, mass = walk(robot, speed, robots, seconds, device, seed)
        fallen = 1 - float(record.walking[-1].float().mean())
        settled = GaitRecording(*(x[round(SETTLE_S / CONTROL_DT) :] for x in vars(record).values()))
        labels = {"gait": robot.name, "command_mps": speed}
        yield rows(robot.cfg.env.load_robot(), settled, mass, labels, {"fallen": fallen}, feet=feet)


def check(speeds_mps: Sequence[float], robots: int, seconds: float) -> None:
    if not speeds_mps or not min(speeds_mps) > 0:
        raise UserError(f"--speeds {' '.join(map(str, speeds_mps))}; give speeds above zero")
    if robots < 1:
        raise UserError(f"--robots {robots} measures nothing; use 1 or more")
    if not seconds > SETTLE_S:
        raise UserError(
            f"--seconds {seconds:g} measures nothing: the first {SETTLE_S:g} s are left out; "
            "give more"
        )
    if (far := max(speeds_mps) * seconds) > REACH_M - ROOM_M:
        raise UserError(
            f"{max(speeds_mps):g} m/s for {seconds:g} s is {far:g} m, the ground ends at "
            f"{REACH_M:g} m; use --seconds {math.floor((REACH_M - ROOM_M) / max(speeds_mps))}"
        )


@torch.no_grad()
def walk(
    robot: TrainedRobot, speed_mps: float, robots: int, seconds: float, device: str, seed: int
) -> tuple[GaitRecording, Tensor]:
    """Returns all frames of `robots` worlds, and the mass of each robot with its payload [N],
    kg."""
    ground = replace(make("flat", 0.0, np.random.default_rng(seed)), goal_x=REACH_M)
    env = Trials(
        replace(robot.cfg.env, random=replace(robot.cfg.env.random, push_every_s=0.0)),
        [ground],
        each=robots,
        command=(speed_mps, 0.0, 0.0),
        time_s=seconds + 1,  # so that no trial runs out of time
        engine=engine_for(device),
        device=device,
        seed=seed,
    )
    agent, obs = robot.agent_for(env), env.reset()
    state, walking = env.engine.state, torch.ones(env.n, dtype=torch.bool, device=env.device)
    frames = []
    for _ in range(round(seconds / CONTROL_DT)):
        step = env.step(agent.act(obs))
        obs = step.obs
        walking = walking & ~(step.terminated | step.truncated)
        frames.append(
            (
                state.base_pos.clone(),
                state.leg_pos.clone(),
                state.foot_force.norm(dim=-1) > TOUCH_N,
                (state.torque * state.joint_vel).abs().sum(1),
                walking,
            )
        )
    record = GaitRecording(*(torch.stack(x).cpu() for x in zip(*frames, strict=True)))
    return record, env.robot.mass + env.engine.drawn.payload.cpu()


def references(robot: Robot, speeds_mps: Sequence[float], *, feet: bool = False) -> list[Row]:
    """Returns rows of the straight clips that are nearest to these speeds, gait by gait."""
    out = []
    for name in REFERENCES:
        ahead = straight(robot, name)
        gaps = [[abs(clip.command.forward_mps - v) for clip in ahead] for v in speeds_mps]
        for k in sorted({gap.index(min(gap)) for gap in gaps if gap}):
            speed = float(ahead[k].command.forward_mps)
            labels = {"gait": f"reference {name}", "command_mps": speed}
            mass = torch.tensor([robot.mass])
            out += rows(robot, record_of(robot, ahead[k]), mass, labels, {}, feet=feet)
    return out


def straight(robot: Robot, name: str) -> list[Clip]:
    """The clips of a gait that go straight ahead, from slow to fast."""
    gait = get_gait(name)
    wanted = [c for c in commands(gait) if c.forward_mps > 0 and not (c.left_mps or c.turn_rps)]
    several = [feasible_clip(robot, gait, scaled(robot, command), CLIP_S) for command in wanted]
    return [clip for clip in several if clip is not None]


def record_of(robot: Robot, clip: Clip) -> GaitRecording:
    """Turns a planned clip into a recording of one robot; its torques are those of massless
    legs."""
    cycle = 1 / (clip.timing.frequency_hz * CONTROL_DT)  # in frames
    cut = slice(round(CUT * cycle), round((CUT + CYCLES) * cycle) + 1)
    legs = leg_points_in_world(
        robot, clip.base_pos, clip.base_quat, clip.joint_pos + robot.default_pose
    )
    power = np.abs(torques(robot, clip) * clip.joint_vel).sum(1)
    all_along = np.ones(len(clip), bool)
    several = (clip.base_pos, legs, clip.stands, power, all_along)
    return GaitRecording(*(torch.from_numpy(x[cut])[:, None] for x in several))


def rows(
    robot: Robot, record: GaitRecording, mass: Tensor, labels: Row, extra: Row, *, feet: bool
) -> list[Row]:
    """Returns one row of all feet, which begins with `labels` and ends with `extra`; with `feet`
    also one of each foot."""
    radius = torch.tensor([leg.foot_radius for leg in robot.legs])
    left = torch.tensor([leg.mount[1] > 0 for leg in robot.legs])
    steps = footfalls(record, radius)
    live = record.walking[1:]
    speed = rate(record.base_pos[..., 0])[live].mean()
    power = record.power_w[1:][live].mean()
    weight = GRAVITY * mass.expand(live.shape)[live].mean()
    every = {
        **labels,
        "speed_mps": float(speed),
        **steps.mean(),
        "asymmetry": steps.asymmetry(left),
        "power_w": float(power),
        "cost_of_transport": float(power / (weight * speed)),
        **extra,
    }
    out = [every]
    if feet:
        out[0] = {**labels, "foot": "all", **every}
        names = enumerate(leg.name for leg in robot.legs)
        out += [{**labels, "foot": name, **steps.mean(torch.tensor([k]))} for k, name in names]
    return [{key: measured(value) for key, value in row.items()} for row in out]


def measured(value: Any) -> Any:
    """Turns NaN, where nothing could be measured, into None."""
    return None if isinstance(value, float) and math.isnan(value) else value
