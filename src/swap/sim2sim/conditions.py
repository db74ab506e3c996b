"""Rough conditions by name: what the paper's robot met outdoors, as changes of a `SimCfg`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from swap.errors import unknown
from swap.sim2sim.cfg import SimCfg

NOMINAL = "nominal"
CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "wet": ("friction of 0.3 to 0.45 instead of 0.5 to 1.25", {"friction": (0.3, 0.45)}),
    "specular": ("discs without a return wander over a third of the image", {"specular": 0.33}),
    "dark": ("one pixel in ten has a return", {"holes": 0.9}),
    "grass": ("40 blades of up to 0.35 m before it, seen and not solid", {"grass": 40}),
    "glass": ("two sills of 4 to 10 cm before it, solid and not seen", {"glass": 2}),
    "rubble": ("15 loose stones of 6 to 16 cm before it", {"rubble": 15}),
    "carpet": ("a carpet before it that slides under 60 N", {"carpet_n": 60.0}),
    "payload": ("a fifth of the robot's mass on its back", {"payload": (0.2, 0.2)}),
    "pushes": ("a push of up to 1 m/s every second or so", {"push_every_s": 1.0}),
    "weak_motor": ("one motor has half of its strength", {"weak_motor": 0.5}),
    "leg_hit": ("200 N for 50 ms against a shank every second or so", {"hit_every_s": 1.0}),
}
"""What it is, and what it changes in a `SimCfg`."""


def chosen(words: Sequence[str]) -> list[str]:
    """Names; `all` is all of them. The nominal one comes first, if there is any."""
    names = list(CONDITIONS) if "all" in words else list(dict.fromkeys(words))
    for name in names:
        if name not in CONDITIONS:
            raise unknown("condition", name, ["all", *CONDITIONS])
    return [NOMINAL, *names] if names else []


def under(cfg: SimCfg, condition: str) -> SimCfg:
    return cfg if condition == NOMINAL else replace(cfg, **CONDITIONS[condition][1])
