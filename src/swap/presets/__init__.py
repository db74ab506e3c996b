"""What can be trained: configs by name, and the table that finds them."""

from swap.presets.kinds import KINDS
from swap.presets.parkour import ParkourCfg
from swap.presets.run_cfg import GuardCfg, RunCfg
from swap.presets.swap import SwapCfg
from swap.presets.table import PRESETS, TrainCfg, get_preset, register

__all__ = [
    "KINDS",
    "PRESETS",
    "GuardCfg",
    "ParkourCfg",
    "RunCfg",
    "SwapCfg",
    "TrainCfg",
    "get_preset",
    "register",
]
