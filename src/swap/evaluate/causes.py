"""Finds what failed trials have in common: success by quarters of everything that was random.

Friction, masses and motors differ from trial to trial. The trials are sorted by one of these and
cut into four: the more the success of the four differs, the more that quantity matters.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from swap.sim.randomise import Draw

RANDOM: dict[str, Callable[[Draw], Tensor]] = {
    "friction": lambda draw: draw.friction,
    "restitution": lambda draw: draw.restitution,
    "payload, kg": lambda draw: draw.payload,
    "mass of the links": lambda draw: draw.link_mass.mean(1),
    "centre of mass, x, m": lambda draw: draw.com[:, 0],
    "centre of mass, z, m": lambda draw: draw.com[:, 2],
    "kp": lambda draw: draw.kp.mean(1),
    "kd": lambda draw: draw.kd.mean(1),
    "motor strength": lambda draw: draw.strength.mean(1),
    "latency, steps": lambda draw: draw.latency,
}
"""How to read each quantity from a draw, [N]; those of motors or links are averaged over the
robot."""


def drawn_values(draw: Draw) -> Tensor:
    """The values of all quantities, [N, len(RANDOM)], on the CPU."""
    return torch.stack([read(draw).double().cpu() for read in RANDOM.values()], 1)


def causes(values: Tensor, success: Tensor) -> list[dict[str, Any]]:
    """Returns a row for each random quantity, the one that matters most first. `values` are those
    of `drawn_values`, `success` [N] is bool."""
    rows = []
    for name, column in zip(RANDOM, values.T, strict=True):
        parts = [
            {
                "low": part.min().item(),
                "high": part.max().item(),
                "trials": len(part),
                "success": won.double().mean().item(),
            }
            for part, won in quarters(column, success)
        ]
        shares = [part["success"] for part in parts]
        if len(parts) > 1:
            rows.append({"what": name, "spread": max(shares) - min(shares), "parts": parts})
    return sorted(rows, key=lambda row: -row["spread"])


def quarters(column: Tensor, success: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Splits values and successes into four parts of about equal size; with fewer than five
    distinct values, each value is a part."""
    known = column.unique()
    if len(known) < 5:
        return [(column[column == x], success[column == x]) for x in known]
    order = column.argsort(stable=True)
    return list(zip(column[order].tensor_split(4), success[order].tensor_split(4), strict=True))
