"""Measures footfalls from contacts and leg positions over time, with pure functions of tensors.

A frame is the end of a control step. T frames are T - 1 control steps; the first frame is the state
before them.
"""

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn.functional import normalize

from swap.sim import CONTROL_DT


@dataclass(frozen=True)
class GaitRecording:
    """T frames of N robots on flat ground at z = 0."""

    base_pos: Tensor  # [T, N, 3] world, m
    leg_pos: Tensor  # [T, N, 4, 3, 3] world: hip joint, knee joint, foot centre
    touching: Tensor  # [T, N, 4] bool: this foot feels the ground
    power_w: Tensor  # [T, N] sum over joints of |torque x speed|
    walking: Tensor  # [T, N] bool: the robot has not come to an end yet


@dataclass(frozen=True)
class Feet:
    """Figures by foot, [4] each; NaN where there was nothing to measure."""

    cadence_hz: Tensor
    """Touchdowns per second."""
    clearance_m: Tensor
    """The highest point of the foot's underside above z = 0, mean over whole swings. Contacts are
    soft, so a standing foot is some millimetres below 0."""
    slip_mps: Tensor
    """Horizontal speed of the point of the foot that touches the ground, mean over the time in
    contact without the control steps in which the foot lands or lifts."""
    duty: Tensor
    """Fraction of the time in contact."""

    def mean(self, feet: Tensor | None = None) -> dict[str, float]:
        """Means over some feet (indices or bools), or over all."""
        some = slice(None) if feet is None else feet
        return {f.name: float(getattr(self, f.name)[some].nanmean()) for f in fields(self)}

    def asymmetry(self, left: Tensor) -> float:
        """The largest difference between left and right feet in cadence, clearance and duty,
        relative to their mean; `left` [4] bool."""
        ours, theirs = self.mean(left), self.mean(~left)
        shares = [
            abs(ours[name] - theirs[name]) / (0.5 * (ours[name] + theirs[name]))
            for name in ("cadence_hz", "clearance_m", "duty")
            if ours[name] + theirs[name] > 0  # false for NaN and for feet that never step
        ]
        return round(max(shares, default=float("nan")), 6)


def footfalls(record: GaitRecording, radius: Tensor) -> Feet:
    """Computes the figures of all feet; `radius` [4] is that of the feet, which are spheres."""
    down, live = in_contact(record.touching), record.walking[1:]
    steps = live.sum()
    landed = down[1:] & ~down[:-1] & live[..., None]
    underside = record.leg_pos[:, :, :, 2, 2] - radius
    speed = slip_velocity(record.leg_pos, radius).norm(dim=-1)
    # Control steps that begin and end in contact, and the next one too.
    firm = down[:-2] & down[1:-1] & down[2:] & live[:-1, :, None]
    return Feet(
        cadence_hz=landed.sum((0, 1)) / (steps * CONTROL_DT),
        clearance_m=clearance(down, underside, record.walking),
        slip_mps=(speed[:-1] * firm).sum((0, 1)) / firm.sum((0, 1)),
        duty=(down[1:] & live[..., None]).sum((0, 1)) / steps,
    )


def in_contact(touching: Tensor) -> Tensor:
    """[T, N, 4] bool: a foot that loses contact for a single control step still counts as standing.

    Touchdowns are the same as in training (`swap.env.frame`). Training cannot look ahead, so there
    every foot counts as standing one step longer; here that step would distort the duty factor.
    """
    down = touching.clone()
    down[1:-1] |= touching[:-2] & touching[2:]
    return down


def clearance(down: Tensor, underside: Tensor, walking: Tensor) -> Tensor:
    """[4] m: the mean clearance over all swings that begin and end within the recording."""
    total = torch.zeros_like(underside[0])
    count, high = torch.zeros_like(total), torch.zeros_like(total)
    swings = torch.zeros_like(down[0])
    for before, now, z, live in zip(down[:-1], down[1:], underside[1:], walking[1:], strict=True):
        lifts, lands = before & ~now, swings & now & live[:, None]
        total += torch.where(lands, high, 0)
        count += lands
        high = torch.where(lifts, z, torch.maximum(high, z))
        swings = (swings | lifts) & ~now
    return total.sum(0) / count.sum(0)


def slip_velocity(leg_pos: Tensor, radius: Tensor) -> Tensor:
    """[T - 1, N, 4, 2] m/s: the velocity of the material point at the bottom of the foot, over each
    control step.

    The foot is part of the shank and rolls as the shank turns: v = v_centre + ω x (0, 0, -r).
    """
    hip, knee, foot = leg_pos.unbind(-2)
    shank = normalize(foot - knee, dim=-1)
    axle = normalize(torch.linalg.cross(knee - hip, foot - knee), dim=-1)  # of the knee
    along = normalize(shank[1:] + shank[:-1], dim=-1)
    across = normalize(axle[1:] + axle[:-1], dim=-1)
    # The motion of a direction gives all of ω except the rotation about it; the axle gives that.
    spin = torch.linalg.cross(along, rate(shank))
    twist = (torch.linalg.cross(across, rate(axle)) * along).sum(-1, keepdim=True)
    spin = spin + twist * along
    rolls = torch.stack([-spin[..., 1], spin[..., 0]], -1) * radius[:, None]
    return rate(foot)[..., :2] + rolls


def rate(x: Tensor) -> Tensor:
    """Rates of change per second: [T, ...] -> [T - 1, ...]."""
    return x.diff(dim=0) / CONTROL_DT
