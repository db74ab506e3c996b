"""Maps the names that files use to config classes.

A file may name a preset that is a user's code, and that code is never run. Its config must still be
read, so the file also names the config class, which is one of these.
"""

import re
from collections.abc import Mapping
from typing import Any

from swap.presets.parkour import ParkourCfg
from swap.presets.swap import SwapCfg
from swap.presets.table import PRESETS, TrainCfg
from swap.registry import is_code

LONGEST = 80
"""Longest name of a preset that is shown, in characters."""
KINDS: dict[str, type[TrainCfg]] = {"parkour": ParkourCfg, "swap": SwapCfg}


def kind_of(cfg: TrainCfg) -> str | None:
    """The name of a config's class; None for a user's own class."""
    return next((name for name, kind in KINDS.items() if type(cfg) is kind), None)


def shown(preset: str) -> str:
    """The name of a preset from a file, without characters that tables and figures might take for
    markup."""
    return re.sub(r"[^\w .:/()+~,@=-]", "?", preset)[:LONGEST]


def class_of(stored: Mapping[str, Any]) -> type[TrainCfg] | None:
    """The class of the config in a checkpoint or card. A file without a kind (an older one, or with
    a user's own class) has the class of its preset; None if that preset is code that the user has
    not named."""
    kind, preset = stored.get("kind"), stored.get("preset")
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    if kind is not None or not isinstance(preset, str):
        return TrainCfg
    return None if is_code(preset) and preset not in PRESETS else type(PRESETS[preset])
