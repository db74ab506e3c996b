"""Describes a robot by facts, which are checked for left-right symmetry at construction."""

import math
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from numbers import Real
from typing import Any

from swap.errors import UserError
from swap.robots.parts import AXES, PARTS, Capsule, Joint, Leg, Link, Vec, reflect
from swap.symmetry import Body, JointAxis


@dataclass(frozen=True)
class CameraMount:
    """The depth camera on the midplane."""

    pos: Vec
    """Position in the base frame."""
    pitch: float
    """Angle downwards from straight ahead, rad."""

    def __post_init__(self) -> None:
        if self.pos[1] != 0:
            raise UserError(
                f"camera at y={self.pos[1]}; mirrored depth needs it on the midplane, y=0"
            )
        if not abs(self.pitch) < math.pi / 2:
            raise UserError(f"camera pitch={self.pitch} looks backwards; use less than pi / 2")


@dataclass(frozen=True)
class Robot:
    """All facts of one robot. Joints are ordered leg by leg, in the order of `legs`."""

    name: str
    legs: tuple[Leg, ...]
    trunk: Link
    trunk_shapes: tuple[Capsule, ...]
    """The trunk's collision shapes."""
    camera: CameraMount
    kp: float
    """Position gain of every joint, Nm/rad."""
    kd: float
    """Damping gain of every joint, Nm s/rad."""
    action_scale: float
    """Joint target = default + action_scale * action, rad."""
    h_des: float
    """Desired height of the base above the ground, m (the paper's h_des)."""
    sides: tuple[tuple[str, str], ...] = (("FL", "FR"), ("RL", "RR"))
    """Which part of a name says left, and which right."""
    note: str = ""

    def __post_init__(self) -> None:
        _check_finite(self, "robot")
        for leg in self.legs:
            _check_leg(leg)
        # Building the body checks that every left name has its right one.
        body = self.body if 0 < len(self.legs) <= 4 else None
        if body is None or len(self.legs) != 4:
            raise UserError(f"robot '{self.name}' has {len(self.legs)} legs; give four")
        for i, leg in enumerate(self.legs):
            j = body.leg_rep.perm[i]
            if i == j:
                raise UserError(
                    f"leg '{leg.name}' is its own mirror image; let sides={self.sides} tell the "
                    "left legs from the right ones"
                )
            if i < j:
                _check_pair(leg, self.legs[j], body)
            said = any(leg.name.replace(*side) == self.legs[j].name for side in self.sides)
            if said and not leg.mount[1] > 0:
                raise UserError(
                    f"leg '{leg.name}' is a left one by its name, and its mount is at "
                    f"y={leg.mount[1]}; y points left, so give y > 0"
                )
        for shape in self.trunk_shapes:
            if not shape.radius > 0:
                raise UserError(f"trunk shape with radius {shape.radius}; give more than zero")
            image = {reflect(shape.a), reflect(shape.b)}
            if not any({s.a, s.b} == image and s.radius == shape.radius for s in self.trunk_shapes):
                raise UserError(
                    f"trunk shape {shape.a}-{shape.b} has no mirror image; add the same with y "
                    "negated"
                )
        for what in ("kp", "kd", "action_scale", "h_des"):
            if not getattr(self, what) > 0:
                raise UserError(f"{what}={getattr(self, what)}; give a number greater than zero")
        longest = max(x.thigh + x.shank + x.foot_radius - x.mount[2] for x in self.legs)
        if self.h_des >= longest:
            raise UserError(
                f"h_des={self.h_des} is out of reach: stretched legs hold the base at {longest:.2f}"
            )
        if not self.trunk.mass > 0 or not min(self.trunk.box) > 0:
            raise UserError(f"trunk {self.trunk}; give mass and box greater than zero")
        if self.trunk.com[1] != 0:
            raise UserError(f"trunk com at y={self.trunk.com[1]}; a symmetric trunk has y=0")

    @cached_property
    def body(self) -> Body:
        """How this robot's joints and legs mirror."""
        joints = tuple(
            JointAxis(f"{leg.name}_{joint.part}", joint.axis)
            for leg in self.legs
            for joint in leg.joints
        )
        return Body(joints, tuple(leg.name for leg in self.legs), self.sides)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """All joints in the robot's order."""
        return tuple(joint for leg in self.legs for joint in leg.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.body.joint_names

    @property
    def default_pose(self) -> tuple[float, ...]:
        return tuple(joint.default for joint in self.joints)

    @property
    def mass(self) -> float:
        return self.trunk.mass + sum(link.mass for leg in self.legs for link in leg.links)

    @property
    def hip_to_hip(self) -> float:
        """Distance from front to rear hips along x, m (the paper's L)."""
        return max(leg.mount[0] for leg in self.legs) - min(leg.mount[0] for leg in self.legs)

    @cached_property
    def stance(self) -> float:
        """Height of the base above flat ground when standing in the default pose, m."""
        from swap.robots.kinematics import feet_in_base

        return max(
            leg.foot_radius - foot[2]
            for leg, foot in zip(self.legs, feet_in_base(self), strict=True)
        )

    @property
    def hip_height(self) -> float:
        """Height of the hip axes above the ground in the default pose, m (the paper's H)."""
        return self.stance + self.legs[0].mount[2]


def _check_finite(value: Any, where: str) -> None:
    """Raise a UserError if any number in the value is NaN or infinite."""
    if is_dataclass(value):
        for field in fields(value):
            fact = getattr(value, field.name)
            if field.type is float and (isinstance(fact, bool) or not isinstance(fact, Real)):
                raise UserError(f"{where}.{field.name}={fact!r}; give a number")
            _check_finite(fact, f"{where}.{field.name}")
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            _check_finite(item, f"{where}[{i}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{where}={value}; give a finite number")


def _check_leg(leg: Leg) -> None:
    parts = tuple(joint.part for joint in leg.joints)
    if parts != PARTS or len(leg.links) != len(PARTS):
        raise UserError(
            f"leg '{leg.name}' has joints {', '.join(parts) or 'none'} and {len(leg.links)} links; "
            f"give {', '.join(PARTS)} and one link each"
        )
    for joint, k in zip(leg.joints, AXES, strict=True):
        if any(abs(a) != (i == k) for i, a in enumerate(joint.axis)):
            raise UserError(
                f"joint '{leg.name}_{joint.part}' turns about {joint.axis}; make it +1 or -1 "
                f"along {'xy'[k]} and zero elsewhere"
            )
        low, high = joint.range
        if not low < joint.default < high:
            raise UserError(
                f"joint '{leg.name}_{joint.part}' has its default {joint.default} outside its "
                f"range {low}..{high}; move the default or widen the range"
            )
    for what in ("thigh", "shank", "thigh_radius", "shank_radius", "foot_radius"):
        if not getattr(leg, what) > 0:
            raise UserError(f"leg '{leg.name}' has {what}={getattr(leg, what)}; give a length > 0")
    for part, link in zip(PARTS, leg.links, strict=True):
        if not link.mass > 0 or not min(link.box) > 0:
            raise UserError(
                f"the link of '{leg.name}_{part}' has mass {link.mass} and box {link.box}; "
                "give numbers greater than zero"
            )


def _check_pair(left: Leg, right: Leg, body: Body) -> None:
    """Check that the right leg is the reflected left one; its axes may point either way."""
    image = left.mirrored(right.name)
    radii = "thigh_radius", "shank_radius", "foot_radius"
    for what in ("mount", "offset", "thigh", "shank", "links", *radii):
        want, got = getattr(image, what), getattr(right, what)
        if want != got:
            raise UserError(
                f"legs '{left.name}' and '{right.name}' differ in {what}: the mirror image of "
                f"'{left.name}' has {want}, '{right.name}' has {got}; "
                f"use {left.name}.mirrored('{right.name}')"
            )
    for a, b in zip(left.joints, right.joints, strict=True):
        name = f"{left.name}_{a.part}"
        sign = body.joint_rep.sign[body.index(name)]
        angles = tuple(sorted(sign * angle for angle in a.range)), sign * a.default
        if angles != (b.range, b.default) or a.motor != b.motor:
            raise UserError(
                f"joints '{name}' and '{right.name}_{b.part}' differ in range, default or motor; "
                f"use {left.name}.mirrored('{right.name}')"
            )
