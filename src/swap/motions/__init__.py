"""Reference gaits for any robot, as clips and as pairs of frames. Read in this order:

gaits -> pace -> sway -> clip -> motion -> effort -> library -> style -> replay
"""

from swap.motions.clip import Clip
from swap.motions.gaits import GAITS, NAMES, Gait, find
from swap.motions.library import clips
from swap.motions.motion import Motion
from swap.motions.pace import Command, scaled
from swap.motions.replay import Outcome, replay
from swap.motions.style import frame_layout, transitions

__all__ = [
    "GAITS",
    "NAMES",
    "Clip",
    "Command",
    "Gait",
    "Motion",
    "Outcome",
    "clips",
    "find",
    "frame_layout",
    "replay",
    "scaled",
    "transitions",
]
