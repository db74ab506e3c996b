"""Measures how feet step from contacts and leg positions over time, with pure functions of tensors.

A frame is the end of a control step. T frames are T - 1 control steps; the first frame only says
how things stood before.
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
    """Touchdowns a second."""
    clearance_m: Tensor
    """The highest point of the foot's underside above z = 0, mean over whole swings. Contacts are
    soft: a standing foot is some millimetres below that."""
    slip_mps: Tensor
    """Horizontal speed of the point of the foot that touches the ground, mean over the time in
    contact without the control steps in which the foot lands or lifts."""
    duty: Tensor
    """Share of the time in contact."""

    def mean(self, feet: Tensor | None = None) -> dict[str, float]:
        """Of some feet (indices or bools), or of all."""
        some = slice(None) if feet is None else feet
        return {f.name: float(getattr(self, f.name)[some].nanmean()) for f in fields(self)}

    def asymmetry(self, left: Tensor) -> float:
        """The largest difference of left and right feet in cadence, clearance and duty, as a share
        of their mean; `left` [4] bool."""
        ours, theirs = self.mean(left), self.mean(~left)
        shares = [
            abs(ours[name] - theirs[name]) / (0.5 * (ours[name] + theirs[name]))
            for name in ("cadence_hz", "clearance_m", "duty")
            if ours[name] + theirs[name] > 0  # not so for NaN, nor for feet that never step
        ]
        return round(max(shares, default=float("nan")), 6)


def footfalls(record: GaitRecording, radius: Tensor) -> Feet:
    """`radius` [4]: of the feet, which are spheres."""
    down, live = in_contact(record.touching), record.walking[1:]
    steps = live.sum()
    landed = down[1:] & ~down[:-1] & live[..., None]
    underside = record.leg_pos[:, :, :, 2, 2] - radius
    speed = slip_velocity(record.leg_pos, radius).norm(dim=-1)
    # A control step from contact to contact, with contact after the next one as well.
    firm = down[:-2] & down[1:-1] & down[2:] & live[:-1, :, None]
    return Feet(
        cadence_hz=landed.sum((0, 1)) / (steps * CONTROL_DT),
        clearance_m=clearance(down, underside, record.walking),
        slip_mps=(speed[:-1] * firm).sum((0, 1)) / firm.sum((0, 1)),
        duty=(down[1:] & live[..., None]).sum((0, 1)) / steps,
    )


def in_contact(touching: Tensor) -> Tensor:
    """[T, N, 4] bool: a foot that loses touch for a single control step has not been lifted.

    Touchdowns are those of training (`swap.env.frame`), which learns of a bounce as it happens and
    so takes every foot for standing one step longer; that step would count in the duty.
    """
    down = touching.clone()
    down[1:-1] |= touching[:-2] & touching[2:]
    return down


def clearance(down: Tensor, underside: Tensor, walking: Tensor) -> Tensor:
    """[4] m: the mean over all swings that begin and end within the record."""
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
    """[T - 1, N, 4, 2] m/s over each control step: the material point at the bottom of the foot.

    The foot is a part of the shank, and rolls as the shank turns: v = v_centre + ω x (0, 0, -r).
    """
    hip, knee, foot = leg_pos.unbind(-2)
    shank = normalize(foot - knee, dim=-1)
    axle = normalize(torch.linalg.cross(knee - hip, foot - knee), dim=-1)  # of the knee
    along = normalize(shank[1:] + shank[:-1], dim=-1)
    across = normalize(axle[1:] + axle[:-1], dim=-1)
    # The motion of a direction tells all of ω but what turns about it: the axle tells that.
    spin = torch.linalg.cross(along, rate(shank))
    twist = (torch.linalg.cross(across, rate(axle)) * along).sum(-1, keepdim=True)
    spin = spin + twist * along
    rolls = torch.stack([-spin[..., 1], spin[..., 0]], -1) * radius[:, None]
    return rate(foot)[..., :2] + rolls


def rate(x: Tensor) -> Tensor:
    """[T, ...] -> [T - 1, ...] a second."""
    return x.diff(dim=0) / CONTROL_DT
