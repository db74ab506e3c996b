"""`swap rewards`: the reward table, the paper's rows and ours, with the weights of each preset."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show, writable


@dataclass(frozen=True)
class Args:
    """Print every term of the reward with its equation, origin and weights."""

    json: Path | None = None
    """Also write the table to this file."""


def run(args: Args) -> int:
    from swap.env import REWARDS
    from swap.sim import CONTROL_DT

    writable(args.json)
    rows = [
        {
            "term": row.name,
            "equation": row.equation,
            "origin": row.origin,
            "paper": row.paper or None,
            "teacher": row.teacher or None,
        }
        for row in REWARDS
    ]
    notes = [
        f"A control step's reward is the weighted sum times {CONTROL_DT:g} s, clipped at zero from "
        "below.",
        "paper: the paper's Table. teacher: its height, vertical and orientation terms on flat "
        "ground only, more for tracking, and pay for new ground.",
    ]
    show(Report("Rewards", rows, notes), args.json)
    return 0
