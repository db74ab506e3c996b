"""Makes all clips of a robot: every gait at its speeds and turn rates, as far as its joints can
follow."""

from collections.abc import Sequence

from swap.errors import UserError
from swap.motions.clip import Clip
from swap.motions.effort import is_feasible
from swap.motions.gaits import GAIT_NAMES, MIRRORED, Gait, get_gait
from swap.motions.motion import Motion
from swap.motions.timing import GaitCommand, scaled
from swap.robots import Robot

SECONDS = 4.0
"""Length of a clip: several cycles, which the control rate samples at different phases."""
SLOWER = 0.9
"""A clip that is too fast for the robot's joints is slowed down repeatedly by this factor."""
SLOWEST = 0.5
"""A clip that would need less than this share of its command is left out."""


def clips(robot: Robot, gaits: Sequence[str] = GAIT_NAMES, seconds: float = SECONDS) -> list[Clip]:
    """All clips. Each is followed by its mirror image, so the set is its own mirror image."""
    if not seconds > 0:
        raise UserError(f"clips of {seconds} s; give a positive length")
    out: list[Clip] = []
    for k, name in enumerate(gaits):
        gait = get_gait(name)
        if name in gaits[:k] or MIRRORED.get(name) in gaits[:k]:  # there already
            continue
        for command in commands(gait):
            clip = feasible_clip(robot, gait, scaled(robot, command), seconds)
            if clip is not None:
                out += [clip, clip.mirrored(robot)]
    if not out:
        raise UserError(f"{robot.name} can do none of {', '.join(gaits)}; are its limits right?")
    return out


def commands(gait: Gait) -> list[GaitCommand]:
    """The commands of a gait's clips, for a robot of Apollo's size."""
    turning = [GaitCommand(v, 0.0, w) for v in gait.forward_mps for w in gait.turn_rps]
    return turning + [GaitCommand(0.0, v, 0.0) for v in gait.sideways_mps]


def feasible_clip(
    robot: Robot, gait: Gait, command: GaitCommand, seconds: float, slowest: float = SLOWEST
) -> Clip | None:
    """The clip, slowed down if the robot's joints need it; None if that is not enough."""
    share = 1.0
    while share >= slowest:
        clip = Motion(robot, gait, command * share).clip(seconds)
        if is_feasible(robot, clip):
            return clip
        share *= SLOWER
    return None
