"""Rough conditions as changes of a `SimCfg`, by the names of `swap.conditions`."""

from dataclasses import replace
from typing import Any

from swap.conditions import (
    BLADES,
    DARKNESS,
    FRICTION,
    GLARE,
    NOMINAL,
    PAYLOAD,
    PUSH_EVERY_S,
    PUSH_MPS,
    SILLS,
    STRENGTH,
)
from swap.sim2sim.cfg import SimCfg

CONDITIONS: dict[str, dict[str, Any]] = {
    "wet": {"friction": FRICTION},
    "specular": {"specular": GLARE},
    "dark": {"holes": DARKNESS},
    "grass": {"grass": BLADES},
    "glass": {"glass": SILLS},
    "rubble": {"rubble": 15},
    "carpet": {"carpet_n": 60.0},
    "payload": {"payload": (PAYLOAD, PAYLOAD)},
    "pushes": {"push_every_s": PUSH_EVERY_S, "push_mps": PUSH_MPS},
    "weak_motor": {"weak_motor": STRENGTH},
    "leg_hit": {"hit_every_s": 1.0},
}
"""What each of them changes."""


def under(cfg: SimCfg, condition: str) -> SimCfg:
    return cfg if condition == NOMINAL else replace(cfg, **CONDITIONS[condition])
