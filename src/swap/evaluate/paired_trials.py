"""Compares, trial by trial, how a trained robot does on courses and on their mirror images, with
mirrored random numbers.

Equal success rates on the two sides may be chance. Here start, noise, body and motors of every
trial on the right are the mirror image of one on the left, so a robot that mirrors exactly must do
the same on both sides, up to the rounding of the physics. Observations are rounded as in
`model_audit`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from swap.courses import Course
from swap.env.terminations import EndReason
from swap.evaluate.layer_check import numerics
from swap.evaluate.mirrored_pairs import Pairs
from swap.evaluate.model_audit import DIFFICULTIES, rounded
from swap.evaluate.success import LOOK_EVERY, TIME_S, course_of
from swap.policy import Agent
from swap.runs.trained_robot import TrainedRobot

APART_M = 0.05
"""Two robots of a pair count as apart if their bases were ever further apart than this."""
MIN_SAME_END = 0.99
"""Fraction of the pairs of an equivariant robot that must end the same. All that were tried did;
but walking amplifies the rounding of the physics, so among very many pairs one may not."""


@dataclass(frozen=True)
class PairedResults:
    """Results [P] of the trials on the courses and on their mirror images."""

    reason: Tensor  # long, an EndReason
    mirrored_reason: Tensor
    apart_m: Tensor  # how far the bases were apart at most, one of them mirrored

    @property
    def same_end(self) -> float:
        """Fraction of the pairs that end for the same reason."""
        return float((self.reason == self.mirrored_reason).float().mean())

    @property
    def apart(self) -> float:
        """Fraction of the pairs whose bases were further apart than `APART_M`."""
        return float((self.apart_m > APART_M).float().mean())

    @property
    def success(self) -> tuple[float, float]:
        both = (self.reason, self.mirrored_reason)
        left, right = (float((x == int(EndReason.SUCCESS)).float().mean()) for x in both)
        return left, right


@torch.no_grad()
def paired_trials(
    robot: TrainedRobot,
    courses: Sequence[Course],
    *,
    device: str = "cpu",
    speed_mps: float = 1.0,
    seed: int = 0,
) -> PairedResults:
    """Runs one trial on each course and one on its mirror image; the worlds are on the CPU."""
    cfg = replace(robot.cfg.env, random=replace(robot.cfg.env.random, push_every_s=0.0))
    time_s = TIME_S / min(speed_mps, 1.0)
    env, half = Pairs(cfg, courses, speed_mps=speed_mps, seed=seed, time_s=time_s), len(courses)
    networks = robot.networks_for(env, device)
    # One agent per side: in one batch a row's place could change the order of a sum.
    agents = [Agent(networks, half, device) for _ in range(2)]
    obs, apart_m = env.reset(), torch.zeros(half)
    with numerics("fp32", device):
        for step in range(env.cfg.episode_steps + 1):
            sides = [{k: x.chunk(2)[side].to(device) for k, x in obs.items()} for side in (0, 1)]
            both = zip(agents, sides, strict=True)
            action = torch.cat([agent.act(rounded(side)) for agent, side in both])
            obs = env.step(action.to(env.device)).obs
            here, there = env.engine.state.base_pos.chunk(2)
            gap = (there * torch.tensor([1.0, -1.0, 1.0]) - here).abs().amax(1)
            running = ~(env.trials.idle[:half] | env.trials.idle[half:])
            apart_m = torch.maximum(apart_m, gap * running)
            if step % LOOK_EVERY == 0 and env.finished:
                break
    reason, mirrored_reason = env.outcome().reason.chunk(2)
    return PairedResults(reason, mirrored_reason, apart_m)


def mirrored_trial_rows(
    robot: TrainedRobot, families: Sequence[str], trials: int, device: str, seed: int
) -> Iterator[dict[str, Any]]:
    """Returns a row for each family: `trials` pairs, in turn at each of the audit's
    difficulties."""
    for family in families:
        courses = [
            course_of(
                *(family, DIFFICULTIES[k % len(DIFFICULTIES)], k),
                seed=seed,
                side="left",
                tilt_deg=robot.cfg.env.tilt_deg,
            )
            for k in range(trials)
        ]
        found = paired_trials(robot, courses, device=device, seed=seed)
        left, right = found.success
        yield {
            "family": family,
            "pairs": trials,
            "success": left,
            "success, mirrored": right,
            "same end": found.same_end,
            "5 cm apart": found.apart,
        }
