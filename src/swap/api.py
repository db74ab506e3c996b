"""Robots and environments from Python: `swap.load` and `swap.make_env`.

robot = swap.load("swap")
env = swap.make_env(robot, worlds=4, family="box", size=1.6)
agent, obs = robot.agent_for(env), env.reset()
while not env.finished:
    obs = env.step(agent.act(obs)).obs
"""

from dataclasses import replace
from pathlib import Path
from typing import overload

from swap.courses import difficulty_of
from swap.env import EnvCfg, ParkourEnv
from swap.env.trials import Trials
from swap.errors import UserError
from swap.evaluate.success import TIME_S, course_of
from swap.presets import ParkourCfg, get_preset
from swap.runs.trained_robot import TrainedRobot, engine_for, load_trained


def load(model: str | Path) -> TrainedRobot:
    """A trained robot: from the folder of a run, from a file of `swap keep`, or by its name."""
    return load_trained(Path(model))


@overload
def make_env(
    of: TrainedRobot | EnvCfg | str, worlds: int = ..., *, device: str = ..., seed: int = ...
) -> ParkourEnv: ...


@overload
def make_env(
    of: TrainedRobot | EnvCfg | str,
    worlds: int = ...,
    *,
    family: str,
    size: float | None = ...,
    speed_mps: float = ...,
    device: str = ...,
    seed: int = ...,
) -> Trials: ...


def make_env(
    of: TrainedRobot | EnvCfg | str,
    worlds: int = 1,
    *,
    family: str | None = None,
    size: float | None = None,
    speed_mps: float = 1.0,
    device: str = "auto",
    seed: int = 0,
) -> ParkourEnv | Trials:
    """An environment as `of` was trained in: a robot, the name of a preset, or an `EnvCfg`.

    Without a `family` it is that of training, with its curriculum, for ever. With one, every world
    has a course of that family and `size` (metres or degrees) and is told to walk ahead: one
    episode each, then `env.finished`, and `env.outcome()` tells how they ended.
    """
    cfg = env_cfg(of)
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    engine = engine_for(device)
    if family is None:
        return ParkourEnv(cfg, worlds, engine=engine, device=device, seed=seed)
    if not speed_mps > 0:
        raise UserError(f"speed_mps={speed_mps:g} leads to no goal; use more than 0, e.g. 1.0")
    difficulty = 0.0 if size is None else difficulty_of(family, size)
    courses = [course_of(family, difficulty, k, seed=seed, side="both") for k in range(worlds)]
    return ParkourEnv.trials(
        replace(cfg, random=replace(cfg.random, push_every_s=0.0)),
        courses,
        command=(speed_mps, 0.0, 0.0),
        time_s=TIME_S / min(speed_mps, 1.0),
        engine=engine,
        device=device,
        seed=seed,
    )


def env_cfg(of: TrainedRobot | EnvCfg | str) -> EnvCfg:
    if isinstance(of, EnvCfg):
        return of
    cfg = get_preset(of) if isinstance(of, str) else of.cfg
    if not isinstance(cfg, ParkourCfg):
        raise UserError(
            f"preset '{of}' has no environment; name one that trains a robot, e.g. tiny"
        )
    return cfg.env
