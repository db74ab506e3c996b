"""Describes the parts of robots: motors, joints, links and legs.

Frames: base +x forward, +y left, +z up; metres, kilograms, radians, newton metres. Every leg has an
abad joint that turns about x, a hip and a knee that turn about y, and links that hang along -z at
joint angle zero. Robot files state the left legs; `Leg.mirrored` makes the right ones.
"""

from dataclasses import dataclass, replace

from swap.errors import UserError

Vec = tuple[float, float, float]

PARTS = ("abad", "hip", "knee")
"""The joints of a leg, from the trunk outwards."""
AXES = (0, 1, 1)
"""The coordinate axis that each joint turns about: x, y, y."""


@dataclass(frozen=True)
class Motor:
    """The abilities of one joint's motor, measured after the gear."""

    torque: float
    """Peak torque, Nm; when braking it is available at any speed."""
    speed: float
    """No-load speed, rad/s: driving torque falls linearly with speed and is zero here."""
    armature: float
    """Rotor inertia seen at the joint, kg m²."""
    damping: float = 0.0
    """Passive viscous damping, Nm s/rad."""

    def __post_init__(self) -> None:
        for what in ("torque", "speed", "armature"):
            if not getattr(self, what) > 0:
                raise UserError(
                    f"motor {what}={getattr(self, what)}; give a number greater than zero"
                )
        if not self.damping >= 0:
            raise UserError(f"motor damping={self.damping}; give 0 or more")


@dataclass(frozen=True)
class Joint:
    """One joint of a leg."""

    part: str
    """Its name within the leg: the joint is called `LEG_part`."""
    axis: Vec
    range: tuple[float, float]
    default: float
    """Its angle in the default pose, to which actions are added."""
    motor: Motor


@dataclass(frozen=True)
class Link:
    """A rigid part: its mass, its centre of mass, and the uniform box of the same inertia."""

    mass: float
    com: Vec
    """Centre of mass in the frame of the joint that moves the link (for the trunk: base frame)."""
    box: Vec
    """Full edge lengths of the box of equal mass and inertia, parallel to the frame."""

    @property
    def inertia(self) -> Vec:
        """Principal moments about the centre of mass."""
        x, y, z = self.box
        k = self.mass / 12
        return k * (y * y + z * z), k * (x * x + z * z), k * (x * x + y * y)


@dataclass(frozen=True)
class Capsule:
    """All points within `radius` of the segment from `a` to `b`; a sphere where they are equal."""

    a: Vec
    b: Vec
    radius: float


@dataclass(frozen=True)
class Leg:
    """One leg: where it is mounted, how long it is, what it weighs, how it moves."""

    name: str
    mount: Vec
    """Position of the abad joint in the base frame."""
    offset: float
    """Distance sideways (+y) from the abad axis to the plane of thigh and shank."""
    thigh: float
    """Length from hip joint to knee joint."""
    shank: float
    """Length from knee joint to the centre of the foot."""
    joints: tuple[Joint, ...]
    """abad, hip, knee."""
    links: tuple[Link, ...]
    """The link that each joint moves: hip housing, thigh, shank with foot."""
    thigh_radius: float
    shank_radius: float
    foot_radius: float

    def mirrored(self, name: str) -> "Leg":
        """The same leg on the other side. Joint axes stay as they are, so x angles change sign."""
        return replace(
            self,
            name=name,
            mount=reflect(self.mount),
            offset=-self.offset,
            joints=tuple(_mirrored(joint) for joint in self.joints),
            links=tuple(replace(link, com=reflect(link.com)) for link in self.links),
        )


def reflect(v: Vec) -> Vec:
    return v[0], -v[1] if v[1] else 0.0, v[2]


def _mirrored(joint: Joint) -> Joint:
    """Rotation vectors mirror as (-x, y, -z); the axis stays, so x and z angles change sign."""
    if joint.axis[1] != 0:
        return joint
    low, high = joint.range
    return replace(joint, range=(-high, -low), default=-joint.default if joint.default else 0.0)
