"""Rough conditions for `swap eval`, by name: changes of a robot's own environment.

Those of them that `swap sim2sim` has, too, and that need no other world: there are more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from swap.env import EnvCfg, ParkourEnv
from swap.errors import UserError, unknown
from swap.sim import Ranges

NOMINAL = "nominal"
ELSEWHERE = ("dark", "grass", "glass", "rubble", "carpet", "leg_hit")
"""Known to `swap sim2sim` only."""


@dataclass(frozen=True)
class Condition:
    """What is changed before a trial's worlds are made, and after."""

    about: str
    cfg: Callable[[EnvCfg], EnvCfg] = lambda cfg: cfg
    worlds: Callable[[ParkourEnv], None] = lambda env: None
    push_every_s: float = 0.0


def _ranges(**changed: object) -> Callable[[EnvCfg], EnvCfg]:
    def change(cfg: EnvCfg) -> EnvCfg:
        ranges: Ranges = replace(cfg.random.ranges, **changed)  # type: ignore[arg-type]
        return replace(cfg, random=replace(cfg.random, ranges=ranges))

    return change


def _glare(cfg: EnvCfg) -> EnvCfg:
    if cfg.camera is None:
        raise UserError("condition 'specular' spoils the camera, and this robot has none")
    noise = replace(cfg.camera.noise, blob_holes=0.66)
    return replace(cfg, camera=replace(cfg.camera, noise=noise))


def _one_weak_motor(env: ParkourEnv) -> None:
    """In world k the motor k, and so on in turns, has half of its strength."""
    drawn, n = env.engine.drawn, env.n
    strength = drawn.strength.clone()
    rows = torch.arange(n, device=strength.device)
    strength[rows, rows % strength.shape[1]] *= 0.5
    everyone = torch.ones(n, dtype=torch.bool, device=strength.device)
    env.engine.randomise(everyone, replace(drawn, strength=strength), bodies=False)


CONDITIONS = {
    "wet": Condition("friction of 0.3 to 0.45", _ranges(friction=(0.3, 0.45))),
    "specular": Condition("each image loses up to two thirds in moving discs", _glare),
    "payload": Condition("a fifth of the robot's mass on its back", _ranges(payload=(0.2, 0.2))),
    "pushes": Condition(
        "a push of up to 1 m/s every second or so", _ranges(push=1.0), push_every_s=1.0
    ),
    "weak_motor": Condition("one motor has half of its strength", worlds=_one_weak_motor),
}


def chosen(words: Sequence[str]) -> list[str]:
    """Names, the nominal one first if there is any; `all` is all of them."""
    names = list(CONDITIONS) if "all" in words else list(dict.fromkeys(words))
    for name in names:
        if name in ELSEWHERE:
            raise UserError(f"condition '{name}' needs another world: swap sim2sim has it")
        if name not in CONDITIONS:
            raise unknown("condition", name, ["all", *CONDITIONS])
    return [NOMINAL, *names] if names else []
