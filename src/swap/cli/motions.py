"""`swap motions`: the reference gaits of a robot as a table, played in physics, or drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from swap.cli.show import Report, Row, show, writable
from swap.errors import UserError
from swap.motions import GAIT_NAMES, Clip, GaitCommand, clips, get_gait, replay
from swap.motions.effort import speed_fraction, torque_fraction
from swap.motions.library import SLOWEST, feasible_clip
from swap.motions.timing import scaled
from swap.robots import Robot, from_user
from swap.validate import check_numbers


@dataclass(frozen=True)
class Args:
    """List the reference gaits; --replay plays them in physics, --render draws some of them."""

    robot: str = "apollo"
    """A robot's name, or a path to a .py file."""
    replay: bool = False
    """Play the joint targets of every clip, without feedback, on flat ground (cpu engine)."""
    render: tuple[str, ...] = ()
    """Gaits to draw, as they are generated, without physics."""
    out: Path = Path("motion.mp4")
    """File to draw: a film (.mp4, .gif), or a picture with a row for each gait (.png)."""
    speed: float | None = None
    """Forward speed to draw, m/s; by default the middle of the gait's range."""
    turn: float = 0.0
    """Turn rate to draw, rad/s, positive to the left."""
    seconds: float = 4.0
    """Length of a clip in seconds."""
    json: Path | None = None
    """Also write the table to this file."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", positive=("seconds",))


def run(args: Args) -> int:
    robot = from_user(args.robot)
    if args.render:
        writable(args.out)
        several = [clip_of(robot, name, args) for name in args.render]
        draw(robot, several, args.out)
        print(f"{', '.join(f'{clip.gait} {clip.command}' for clip in several)}; {args.out}")
        return 0
    every = clips(robot, seconds=args.seconds)
    rows = replay_table(robot, every) if args.replay else table(robot, every)
    shares = "shares: of the no-load speed and the peak torque of the joint nearest to its own"
    blind = "targets carry the planned torques; nothing but joint angles is fed back"
    title = f"Reference gaits of {robot.name}, {len(every)} clips of {args.seconds:g} s"
    notes = ["each clip comes with its mirror image", blind if args.replay else shares]
    show(Report(title, rows, notes), args.json)
    return 0


def table(robot: Robot, every: Sequence[Clip]) -> list[Row]:
    """One row for each gait."""
    rows: list[Row] = []
    for name in GAIT_NAMES:
        mine = [clip for clip in every if clip.gait == name]
        if mine:
            rows.append(
                {
                    "gait": name,
                    "clips": len(mine),
                    "forward m/s": range_text([clip.command.forward_mps for clip in mine]),
                    "left m/s": range_text([clip.command.left_mps for clip in mine]),
                    "turn rad/s": range_text([clip.command.turn_rps for clip in mine]),
                    "cycles/s": range_text([clip.timing.frequency_hz for clip in mine]),
                    "duty factor": range_text([clip.timing.duty for clip in mine]),
                    "speed fraction": max(speed_fraction(robot, clip) for clip in mine),
                    "torque fraction": max(torque_fraction(robot, clip) for clip in mine),
                }
            )
    return rows


def replay_table(robot: Robot, every: Sequence[Clip]) -> list[Row]:
    """One row for each clip; mirror images are left out."""
    those = every[::2]
    return [
        {
            "gait": clip.gait,
            "command": str(clip.command),
            "upright s": end.upright_s,
            "asked m": float(np.linalg.norm(clip.base_pos[-1, :2] - clip.base_pos[0, :2])),
            "moved m": float(np.linalg.norm(end.moved_m)),
            "asked rad": clip.command.turn_rps * clip.seconds,
            "turned rad": end.turned_rad,
        }
        for clip, end in zip(those, replay(robot, those), strict=True)
    ]


def clip_of(robot: Robot, name: str, args: Args) -> Clip:
    gait = get_gait(name)
    if gait.stands and (args.speed or args.turn):
        raise UserError(f"{name} goes nowhere; leave --speed and --turn at zero")
    middle = scaled(robot, GaitCommand(gait.forward_mps[len(gait.forward_mps) // 2])).forward_mps
    command = GaitCommand(middle if args.speed is None else args.speed, 0.0, args.turn)
    slowest = SLOWEST if args.speed is None else 1.0  # a given speed must not be slowed down
    clip = feasible_clip(robot, gait, command, args.seconds, slowest)
    if clip is None:
        raise UserError(
            f"{robot.name} cannot {name} at {command}; go slower (swap motions lists speeds)"
        )
    return clip


def draw(robot: Robot, several: Sequence[Clip], out: Path) -> None:
    from swap.view.motion import film, rows

    if out.suffix.lower() == ".png":
        rows(robot, several, out)
    else:
        film(robot, several, out)


def range_text(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.2f}" if high - low < 5e-3 else f"{low:.2f}..{high:.2f}"
