"""`swap robots`: every known robot, with its mass, sizes, limits and motors."""

from dataclasses import dataclass
from pathlib import Path

from swap.cli.show import Report, show
from swap.robots import PARTS, Robot, from_user, load, names


@dataclass(frozen=True)
class Args:
    """Print the known robots, or one of them (a name, or a path to a robot file)."""

    robot: str | None = None
    """Only this robot: a name, a path to a .py file, or package.module:NAME."""
    json: Path | None = None
    """Also write the table to this file."""


def run(args: Args) -> int:
    robots = [from_user(args.robot)] if args.robot else [load(name) for name in names()]
    rows = [row for robot in robots for row in table(robot)]
    notes = [
        f"{robot.name}: {robot.note or 'a robot of yours'}; stands with its hips at "
        f"{robot.hip_height:.3f} m and its base at {robot.stance:.3f} m (h_des {robot.h_des} m); "
        f"kp {robot.kp:g}, kd {robot.kd:g}, action scale {robot.action_scale:g}"
        for robot in robots
    ]
    show(Report("Robots", rows, notes), args.json)
    return 0


def table(robot: Robot) -> list[dict[str, object]]:
    """One row for each joint of each left leg; the right legs are their mirror images."""
    rows: list[dict[str, object]] = []
    for i, leg in enumerate(robot.legs):
        if robot.body.leg_rep.perm[i] < i:
            continue
        for joint, link, part in zip(leg.joints, leg.links, PARTS, strict=True):
            first = part == PARTS[0]
            rows.append(
                {
                    "robot": robot.name if not rows else "",
                    "kg": robot.mass if not rows else None,
                    "hip to hip m": robot.hip_to_hip if not rows else None,
                    "leg": leg.name if first else "",
                    "thigh/shank m": f"{leg.thigh:g}/{leg.shank:g}" if first else "",
                    "joint": part,
                    "link kg": link.mass,
                    "range rad": f"{joint.range[0]:g}..{joint.range[1]:g}",
                    "default rad": joint.default,
                    "peak Nm": joint.motor.torque,
                    "no-load rad/s": joint.motor.speed,
                }
            )
    return rows
