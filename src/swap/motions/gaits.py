"""Lists the gaits as data: the order, frequency and duty factor of footfalls, and the foot lift.

Numbers are for a robot of Apollo's size. Other robots move in a dynamically similar way: if the
hips are k times as high, lengths are k times, and times and speeds √k times as large.
"""

from dataclasses import dataclass

from swap.errors import unknown

APOLLO_HIP_M = 0.55
"""The hip height that the numbers below are for."""

Line = tuple[float, float]
"""(a, b) is a + b v, with v the speed of the feet over the ground in m/s."""


@dataclass(frozen=True)
class Gait:
    """One way to move."""

    name: str
    touchdown: tuple[float, float, float, float]
    """Phase at which each foot comes down: front left, front right, hind left, hind right."""
    frequency_hz: Line
    """Cycles per second."""
    duty: Line
    """The share of its cycle for which a foot stands (duty factor)."""
    duty_range: tuple[float, float]
    """Bounds of the duty factor."""
    forward_mps: tuple[float, ...]
    """Forward speeds of its clips, from slow to fast."""
    turn_rps: tuple[float, ...] = (0.0, 0.5, 1.0)
    """Turn rates of its clips; mirrored clips turn the other way."""
    sideways_mps: tuple[float, ...] = ()
    """Leftward speeds of its clips that do not turn."""
    lift_m: Line = (0.06, 0.03)
    """Height to which a foot is lifted in swing."""
    pitch_rad: float = 0.12
    """Largest pitch of the body."""
    roll_rad: float = 0.04
    """Largest roll of the body."""

    @property
    def stands(self) -> bool:
        """Whether all feet stay on the ground."""
        return self.duty_range[0] >= 1


GAITS = (
    # A hind foot, the front foot of its side, then the other side: three or two feet on the ground.
    Gait(
        "walk",
        touchdown=(0.0, 0.5, 0.75, 0.25),
        frequency_hz=(0.9, 0.5),
        duty=(0.68, 0.0),
        duty_range=(0.68, 0.68),
        forward_mps=(0.2, 0.4, 0.6),
        turn_rps=(0.0, 0.3, 0.6),
        sideways_mps=(0.2,),
        pitch_rad=0.02,
        roll_rad=0.02,
    ),
    # Diagonal pairs move together.
    Gait(
        "trot",
        touchdown=(0.0, 0.5, 0.5, 0.0),
        frequency_hz=(1.4, 0.45),
        duty=(0.6, -0.1),
        duty_range=(0.35, 0.6),
        forward_mps=(-0.5, 0.0, 0.3, 0.6, 1.0, 1.5, 2.0),
        sideways_mps=(0.3, 0.6),
    ),
    # The two feet of a side move together.
    Gait(
        "pace",
        touchdown=(0.0, 0.5, 0.0, 0.5),
        frequency_hz=(1.4, 0.45),
        duty=(0.6, -0.1),
        duty_range=(0.35, 0.6),
        forward_mps=(0.5, 1.0, 1.5),
    ),
    # Both hind feet, then both front feet.
    Gait(
        "bound",
        touchdown=(0.5, 0.5, 0.0, 0.0),
        frequency_hz=(1.6, 0.35),
        duty=(0.48, -0.07),
        duty_range=(0.26, 0.45),
        forward_mps=(1.0, 1.5, 2.0, 2.5, 3.0),
        turn_rps=(0.0, 0.5),
    ),
    # A hind foot, the other hind foot with its diagonal, the leading front foot; then all in the
    # air.
    Gait(
        "canter_left",
        touchdown=(0.6, 0.3, 0.3, 0.0),
        frequency_hz=(1.5, 0.35),
        duty=(0.5, -0.07),
        duty_range=(0.28, 0.5),
        forward_mps=(1.5, 2.0, 2.5),
    ),
    Gait(
        "canter_right",
        touchdown=(0.3, 0.6, 0.0, 0.3),
        frequency_hz=(1.5, 0.35),
        duty=(0.5, -0.07),
        duty_range=(0.28, 0.5),
        forward_mps=(1.5, 2.0, 2.5),
        turn_rps=(0.0, -0.5, -1.0),
    ),
    # All four feet at once.
    Gait(
        "pronk",
        touchdown=(0.0, 0.0, 0.0, 0.0),
        frequency_hz=(2.2, 0.2),
        duty=(0.5, 0.0),
        duty_range=(0.5, 0.5),
        forward_mps=(0.0, 0.25, 0.5),
        turn_rps=(0.0, 0.5),
    ),
    # The body shifts its weight a little: a standing robot is never quite still.
    Gait(
        "stand",
        touchdown=(0.0, 0.0, 0.0, 0.0),
        frequency_hz=(0.3, 0.0),
        duty=(1.0, 0.0),
        duty_range=(1.0, 1.0),
        forward_mps=(0.0,),
        turn_rps=(0.0,),
        pitch_rad=0.015,
        roll_rad=0.015,
    ),
)

GAIT_NAMES = tuple(gait.name for gait in GAITS)
MIRRORED = {"canter_left": "canter_right", "canter_right": "canter_left"}
"""The gait that is a gait's mirror image, if it is not the same gait half a cycle later."""


def get_gait(name: str) -> Gait:
    for gait in GAITS:
        if gait.name == name:
            return gait
    raise unknown("gait", name, GAIT_NAMES)
