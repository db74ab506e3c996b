"""`swap mirror`: the paper's symmetry table for a robot, from its joint names."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show
from swap.env.spaces import Spaces
from swap.symmetry import Body, Field


@dataclass(frozen=True)
class Args:
    """Print how every quantity changes when left and right trade places."""

    robot: str = "apollo"
    """A robot that `swap robots` lists, or a file that defines one."""
    json: Path | None = None
    """Also write the table to this file."""


def run(args: Args) -> int:
    from swap.robots import from_user

    spaces = Spaces(from_user(args.robot).body)
    rows = [
        {
            "quantity": field.name,
            "symbol": field.symbol,
            "dim": field.dim,
            "even": field.rep.n_even,
            "odd": field.rep.n_odd,
            "mirrored": mirrored(field, spaces.body),
            "what it is": field.doc,
        }
        for field in spaces.fields.values()
    ]
    sizes = [
        f"{name} {layout.dim}"
        for name, layout in {
            "encoder: depth": spaces.depth,
            "proprioception": spaces.proprioception,
            "| decoder: + heights": spaces.predicted_heights,
            "| actor: history": spaces.actor_history,
            "command": spaces.command,
            "| critic: privileged": spaces.privileged,
            "| discriminator:": spaces.style,
        }.items()
    ]
    show(Report(f"The mirror of {args.robot}", rows, [" ".join(sizes)]), args.json)
    return 0


def mirrored(field: Field, body: Body) -> str:
    """The transformation in words, from the Rep."""
    rep = field.rep
    if rep.dim == 1:
        return "unchanged" if rep.sign == (1,) else "negated"
    if rep.dim == 3 and rep.perm == (0, 1, 2):
        axes = ("x", "y", "yaw" if field.name == "command" else "z")
        return "(" + ", ".join("-" * (s < 0) + c for s, c in zip(rep.sign, axes, strict=True)) + ")"
    if rep.dim == len(body.joints) and abs(rep) == abs(body.joint_rep):
        return "left leg <-> right leg" + ("" if rep == abs(rep) else ", abad negated")
    if rep.dim % len(body.legs) == 0 and rep.perm[0] >= rep.dim // len(body.legs):
        return "left leg <-> right leg" + (", each flipped" if "heights" in field.name else "")
    return "columns reversed"
