"""Derives how a robot mirrors from the names and axes of its joints.

Mirroring swaps each left name for its right one and keeps names without a side. The sign of a
joint is geometry, not convention: a rotation vector mirrors as (-x, y, -z), so a joint that turns
about x on both sides changes sign, one that turns about y does not, and one whose right axis is
modelled the other way round gets the other sign. Order, names and axes come from the robot's model.
"""

from dataclasses import dataclass
from functools import cached_property

from swap.errors import UserError, unknown
from swap.symmetry.rep import Rep, signs

Axis = tuple[float, float, float]

ROLL: Axis = (1.0, 0.0, 0.0)
PITCH: Axis = (0.0, 1.0, 0.0)
YAW: Axis = (0.0, 0.0, 1.0)

VECTOR = signs(1, -1, 1)
"""Positions, velocities, forces, gravity: the sideways component changes sign."""
ROTATION = signs(-1, 1, -1)
"""Angular velocities, torques, rotation vectors: the x and z components change sign."""


@dataclass(frozen=True)
class JointAxis:
    """One joint as the robot's model names it, with its axis in the body frame."""

    name: str
    axis: Axis


@dataclass(frozen=True)
class Body:
    """Joints in the robot's order, legs in the robot's order, and which names are left and right.

    `sides` pairs the part of a name that says left with the part that says right:
    `(("FL", "FR"), ("RL", "RR"))`, or `(("left", "right"),)`.
    """

    joints: tuple[JointAxis, ...]
    legs: tuple[str, ...]
    sides: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        for kind, names in (("joint", self.joint_names), ("leg", self.legs)):
            for name in names:
                if names.count(name) > 1:
                    raise UserError(f"{kind} '{name}' occurs twice; give each its own name")
        for rep in (self.joint_rep, self.leg_rep):
            assert rep.dim  # building the Reps checks that every left name has its right one

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def leg_rep(self) -> Rep:
        """How a vector with one number per leg mirrors."""
        return Rep(tuple(self._partner("leg", name, self.legs) for name in self.legs), self._ones())

    @cached_property
    def joint_rep(self) -> Rep:
        """How a vector with one number per joint mirrors: angles, speeds, torques, actions."""
        names = self.joint_names
        perm = tuple(self._partner("joint", name, names) for name in names)
        sign = tuple(
            _axis_sign(joint, self.joints[j]) for joint, j in zip(self.joints, perm, strict=True)
        )
        return Rep(perm, sign)

    def index(self, joint: str) -> int:
        """The index of the named joint in this robot's order."""
        if joint not in self.joint_names:
            raise unknown("joint", joint, self.joint_names)
        return self.joint_names.index(joint)

    def _ones(self) -> tuple[int, ...]:
        return (1,) * len(self.legs)

    def _partner(self, kind: str, name: str, names: tuple[str, ...]) -> int:
        other = self.mirror_name(name)
        if other not in names:
            raise UserError(
                f"{kind} '{name}' has no mirror image '{other}'; add it, or correct "
                f"sides={self.sides}"
            )
        return names.index(other)

    def mirror_name(self, name: str) -> str:
        """The name of the same part on the other side; a name without a side stays as it is."""
        for left, right in self.sides:
            if left in name:
                return name.replace(left, right)
            if right in name:
                return name.replace(right, left)
        return name


def _axis_sign(joint: JointAxis, mirrored: JointAxis) -> int:
    """The sign s for which turning `joint` by q mirrors into turning `mirrored` by s q."""
    image = tuple(s * a for s, a in zip(ROTATION.sign, joint.axis, strict=True))
    for s in (1, -1):
        if all(
            abs(u - s * v) < 1e-9 * (1 + abs(u)) for u, v in zip(image, mirrored.axis, strict=True)
        ):
            return s
    raise UserError(
        f"joint '{joint.name}' turns about {joint.axis}, whose mirror image {image} is neither the "
        f"axis {mirrored.axis} of '{mirrored.name}' nor its opposite; correct one of the two axes"
    )


def quadruped(
    legs: tuple[str, ...] = ("FL", "FR", "RL", "RR"),
    parts: tuple[tuple[str, Axis], ...] = (("abad", ROLL), ("hip", PITCH), ("knee", PITCH)),
    sides: tuple[tuple[str, str], ...] = (("FL", "FR"), ("RL", "RR")),
) -> Body:
    """The paper's robot: four legs with abad, hip and knee, ordered leg by leg. It serves as an
    example: real robots have their own joint names (`swap.robots.PARTS`)."""
    joints = tuple(JointAxis(f"{leg}_{part}", axis) for leg in legs for part, axis in parts)
    return Body(joints, legs, sides)
