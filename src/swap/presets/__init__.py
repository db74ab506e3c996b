"""Presets: named configs of what can be trained, and the table that finds them. Read in this order:

run_cfg -> table -> parkour -> teacher -> tiny -> swap -> tiny_camera -> one_sided ->
paper_reward -> rough
"""

from swap.presets.kinds import KINDS
from swap.presets.one_sided import ONE_SIDED
from swap.presets.paper_reward import PAPER_REWARD
from swap.presets.parkour import ParkourCfg
from swap.presets.rough import ROUGH
from swap.presets.run_cfg import GuardCfg, RunCfg
from swap.presets.swap import ARMS, SwapCfg
from swap.presets.table import PRESETS, TrainCfg, get_preset, register
from swap.presets.teacher import TEACHER
from swap.presets.tiny import TINY
from swap.presets.tiny_camera import TINY_CAMERA

for _name, _cfg in {
    "teacher": TEACHER,
    "tiny": TINY,
    "tiny-camera": TINY_CAMERA,
    **ARMS,
    **ONE_SIDED,
    **PAPER_REWARD,
    **ROUGH,
}.items():
    register(_name, _cfg)

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
