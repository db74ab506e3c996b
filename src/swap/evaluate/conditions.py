"""Rough conditions of `swap eval` as changes of a robot's own environment, by the names of
`swap.conditions`. Loose stones, sliding carpets and hits against legs are in sim2sim alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from swap.conditions import (
    BLADES,
    DARKNESS,
    FRICTION,
    GLARE,
    PAYLOAD,
    PUSH_EVERY_S,
    PUSH_MPS,
    SILLS,
    STRENGTH,
)
from swap.courses import Course
from swap.courses.blocks import Block
from swap.courses.clutter import add, glass, grass
from swap.env import EnvCfg, ParkourEnv
from swap.errors import UserError
from swap.sensors import DepthCameraCfg
from swap.sim import Ranges

Clutter = Callable[[Course, np.random.Generator], list[Block]]


@dataclass(frozen=True)
class Condition:
    """What is changed before a trial's worlds are made, and after."""

    cfg: Callable[[EnvCfg], EnvCfg] = lambda cfg: cfg
    worlds: Callable[[ParkourEnv], None] = lambda env: None
    push_every_s: float = 0.0
    solid: Clutter | None = None
    """Boxes that are there, and that the camera does not see."""
    seen: Clutter | None = None
    """Boxes that the camera sees, and that are not there."""

    def courses(
        self, courses: Sequence[Course], seed: int
    ) -> tuple[Sequence[Course], Sequence[Course] | None]:
        """What is there, and what the camera sees if that is something else."""
        solid, seen = _cluttered(courses, self.solid, seed), _cluttered(courses, self.seen, seed)
        return solid, None if solid is seen else seen


def _cluttered(courses: Sequence[Course], clutter: Clutter | None, seed: int) -> Sequence[Course]:
    if clutter is None:
        return courses
    return [
        add(course, clutter(course, np.random.default_rng([seed, k, *b"clutter"])))
        for k, course in enumerate(courses)
    ]


def _ranges(**changed: object) -> Callable[[EnvCfg], EnvCfg]:
    def change(cfg: EnvCfg) -> EnvCfg:
        ranges: Ranges = replace(cfg.random.ranges, **changed)  # type: ignore[arg-type]
        return replace(cfg, random=replace(cfg.random, ranges=ranges))

    return change


def _camera(cfg: EnvCfg) -> DepthCameraCfg:
    if cfg.camera is None:
        raise UserError("this condition deceives the camera, and the robot has none; leave it out")
    return cfg.camera


def _sees(cfg: EnvCfg) -> EnvCfg:
    _camera(cfg)
    return cfg


def _noise(**changed: object) -> Callable[[EnvCfg], EnvCfg]:
    def change(cfg: EnvCfg) -> EnvCfg:
        camera = _camera(cfg)
        noise = replace(camera.noise, **changed)  # type: ignore[arg-type]
        return replace(cfg, camera=replace(camera, noise=noise))

    return change


def _one_weak_motor(env: ParkourEnv) -> None:
    """In world k the motor k, and so on in turns, is weak."""
    drawn, n = env.engine.drawn, env.n
    strength = drawn.strength.clone()
    rows = torch.arange(n, device=strength.device)
    strength[rows, rows % strength.shape[1]] *= STRENGTH
    everyone = torch.ones(n, dtype=torch.bool, device=strength.device)
    env.engine.randomise(everyone, replace(drawn, strength=strength), bodies=False)


CONDITIONS = {
    "wet": Condition(_ranges(friction=FRICTION)),
    "specular": Condition(_noise(blob_holes=2 * GLARE)),  # drawn from 0 to this
    "dark": Condition(_noise(pixel_holes=(DARKNESS, DARKNESS))),
    "grass": Condition(_sees, seen=lambda course, rng: grass(course, BLADES, rng)),
    "glass": Condition(_sees, solid=lambda course, rng: glass(course, SILLS, rng)),
    "payload": Condition(_ranges(payload=(PAYLOAD, PAYLOAD))),
    "pushes": Condition(_ranges(push=PUSH_MPS), push_every_s=PUSH_EVERY_S),
    "weak_motor": Condition(worlds=_one_weak_motor),
}
