"""Reference gaits for any robot, as motion clips and as pairs of frames. Read in this order:

gaits -> timing -> sway -> clip -> motion -> effort -> library -> reference -> replay
"""

from swap.motions.clip import Clip
from swap.motions.gaits import GAIT_NAMES, GAITS, Gait, get_gait
from swap.motions.library import clips
from swap.motions.motion import Motion
from swap.motions.reference import frame_layout, transitions
from swap.motions.replay import ReplayResult, replay
from swap.motions.timing import GaitCommand, scaled

__all__ = [
    "GAITS",
    "GAIT_NAMES",
    "Clip",
    "Gait",
    "GaitCommand",
    "Motion",
    "ReplayResult",
    "clips",
    "frame_layout",
    "get_gait",
    "replay",
    "scaled",
    "transitions",
]
