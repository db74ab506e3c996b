"""The names under which files refer to the config classes.

Of a preset of somebody else's a file tells the name, which runs nothing. Which class its config is
of must be known all the same, and is one of these.
"""

import re
from collections.abc import Mapping
from typing import Any

from swap.presets.parkour import ParkourCfg
from swap.presets.swap import SwapCfg
from swap.presets.table import PRESETS, TrainCfg
from swap.registry import is_code

LONGEST = 80
"""Of a name."""
KINDS: dict[str, type[TrainCfg]] = {"parkour": ParkourCfg, "swap": SwapCfg}


def kind_of(cfg: TrainCfg) -> str | None:
    """None for a class of a user's own."""
    return next((name for name, kind in KINDS.items() if type(cfg) is kind), None)


def shown(preset: str) -> str:
    """The name of a preset as a file tells it, without what tables and figures might take for
    orders of theirs."""
    return re.sub(r"[^\w .:/()+~,@=-]", "?", preset)[:LONGEST]


def class_of(stored: Mapping[str, Any]) -> type[TrainCfg] | None:
    """Of the config in a checkpoint or card. What was written before kinds were, or has a class of
    its own, has that of its preset; None if that is code which nobody has named."""
    kind, preset = stored.get("kind"), stored.get("preset")
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    if kind is not None or not isinstance(preset, str):
        return TrainCfg
    return None if is_code(preset) and preset not in PRESETS else type(PRESETS[preset])
