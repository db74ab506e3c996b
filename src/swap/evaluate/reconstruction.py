"""Measures the error of the depth images that a robot's world model decodes: by tick, by pixel, and
by side.

The robot acts on courses that are high on the left and on their mirror images. At every tick of its
world model the decoded depth is compared with the camera's image without noise, in metres. So each
side has sequences that a robot made there itself. In addition, the model gets the exact mirror
image of each sequence, and decodes that. An equivariant model then makes the mirrored error, bit
for bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from swap.courses import Course
from swap.errors import UserError
from swap.evaluate.layer_check import numerics
from swap.evaluate.success import trials_env
from swap.evaluate.wilson import Z_95
from swap.policy import LatentState
from swap.runs.trained_robot import TrainedRobot
from swap.sim import CONTROL_DT
from swap.world_model import WorldModel

Obs = Mapping[str, Tensor]
Row = dict[str, Any]


class ModelTracker:
    """A world model that follows what other robots observe and do, or the mirror image of that; it
    does not act."""

    def __init__(self, model: WorldModel, n: int, device: torch.device, *, mirrored: bool) -> None:
        self.model, self.mirrored = model, mirrored
        self.state = LatentState(model, n, device)

    def observe(self, obs: Obs) -> Tensor | None:
        """Takes a new observation; at a tick returns |decoded - clean| in metres [N, rows, cols],
        in the camera's orientation: for a mirrored sequence it is mirrored back."""
        model = self.model

        def read() -> tuple[Tensor, Tensor, None]:
            depth, prop = model.codec.from_linear(obs["depth_noisy"]), model.prop_of(obs)
            if self.mirrored:
                depth, prop = depth.flip(-1), model.prop.rep(prop)
            return depth, prop, None

        if not self.state.observe(None, read):
            return None
        seen = model.codec.to_metres(model.decode(self.state.latent).depth)
        span_m = model.codec.far_m - model.codec.near_m
        there = model.codec.near_m + obs["depth_clean"].clamp(0.0, 1.0) * span_m
        return ((seen.flip(-1) if self.mirrored else seen) - there).abs()

    def record(self, action: Tensor) -> None:
        self.state.record(self.model.action.rep(action) if self.mirrored else action)


@dataclass(frozen=True)
class Errors:
    """The errors of one set of sequences, in metres."""

    images: Tensor  # [T, N] mean over the pixels of each image; nan once a trial is over
    pixels: Tensor  # [rows, cols] mean over images

    @property
    def mean(self) -> float:
        return float(self.images.nanmean())

    def by_tick(self) -> list[dict[str, float]]:
        """The mean over trials with its 95 % interval, for every tick at which any trial still
        runs."""
        rows = []
        for tick, images in enumerate(self.images):
            there = images[~images.isnan()].double()
            if len(there):
                mean, n = float(there.mean()), len(there)
                spread = Z_95 * float(there.std()) / n**0.5 if n > 1 else 0.0
                rows.append(
                    {"tick": tick, "error_m": mean, "low": mean - spread, "high": mean + spread}
                    | {"trials": n}
                )
        return rows


@dataclass(frozen=True)
class Reconstructions:
    """The errors of the same sequences, as they are and mirrored."""

    straight: Errors
    mirrored: Errors
    gap_m: float
    """The largest difference between the two errors in any pixel of any image."""


@torch.no_grad()
def reconstruct(
    robot: TrainedRobot,
    courses: Sequence[Course],
    *,
    speed_mps: float = 1.0,
    seconds: float = 8.0,
    device: str = "cpu",
    seed: int = 0,
    driver: TrainedRobot | None = None,
) -> Reconstructions:
    """Runs one trial on each course. `driver` is the robot that acts, if not `robot` itself."""
    acts = driver or robot
    for one in (robot, acts):
        if not one.has_world_model:
            raise UserError(f"a robot of preset {one.name} has no world model; name one that sees")
    env = trials_env(acts.cfg.env, courses, speed_mps, device, seed)
    model = robot.networks_for(env).model
    assert model is not None
    agent, obs = acts.agent_for(env), env.reset()
    trackers = [
        ModelTracker(model, env.n, env.device, mirrored=mirrored) for mirrored in (False, True)
    ]
    images: list[list[Tensor]] = [[], []]
    pixels = [torch.zeros(model.image, dtype=torch.float64, device=env.device) for _ in trackers]
    count, gap_m = torch.zeros((), device=env.device), torch.zeros((), device=env.device)
    with numerics("fp32", device):
        for _ in range(round(seconds / CONTROL_DT)):
            found = [tracker.observe(obs) for tracker in trackers]
            if found[0] is not None:
                live = ~env.trials.idle
                for k, error in enumerate(found):
                    assert error is not None  # they tick together
                    images[k].append(error.mean((1, 2)).masked_fill_(~live, torch.nan))
                    pixels[k] += error[live].sum(0, dtype=torch.float64)
                    gap = (error - found[0]).abs().amax((1, 2))
                    gap_m = torch.maximum(gap_m, (gap * live).max())
                count += live.sum()
                if env.finished:
                    break
            action = agent.act(obs)
            for tracker in trackers:
                tracker.record(action)
            obs = env.step(action).obs
    straight, mirrored = (
        Errors(torch.stack(x).cpu(), (y / count.clamp(min=1)).float().cpu())
        for x, y in zip(images, pixels, strict=True)
    )
    return Reconstructions(straight, mirrored, float(gap_m))


SEQUENCES = {"straight": "as they were", "mirrored": "mirrored"}


def rows_of(side: str, both: Reconstructions) -> tuple[list[Row], list[Row]]:
    """The results of one side, for whole sequences and for every tick."""
    whole, ticks = [], []
    for name, words in SEQUENCES.items():
        errors: Errors = getattr(both, name)
        facts = {"side": side, "sequences": words}
        n, ended = errors.images.shape[1], errors.images[-1].isnan().sum()
        whole.append({**facts, "trials": n, "ended": int(ended), "error_m": errors.mean})
        ticks += [{**facts, **row} for row in errors.by_tick()]
    return whole, ticks


def map_of(errors: Errors) -> list[str]:
    """The mean error of every pixel in mm, one line for each row of the image."""
    return [" ".join(map(str, row)) for row in (1000 * errors.pixels).round().int().tolist()]


def declared_equivariant(robot: TrainedRobot) -> bool:
    """Whether its world model claims to mirror exactly."""
    model = robot.cfg.learning.model
    return model is not None and model.net.equivariant
