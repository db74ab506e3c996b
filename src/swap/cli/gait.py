"""`swap gait`: how a trained robot walks on flat ground, beside the reference gaits; or how it
moves at the edge of a box or gap."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from swap.cli.show import Report, save, show
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import choose_device
from swap.errors import UserError
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.runs.trained_robot import TrainedRobot


@dataclass(frozen=True)
class Args:
    """Measure how a trained robot walks on flat ground: cadence, clearance, slip, effort. With
    --family and --sizes: how it moves at the edge of a box or gap, and how evenly left and right
    carry the load."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    speeds: tuple[float, ...] | None = None
    """Commanded forward speeds, m/s; by default 0.5, 1, 1.5 and 2; at an obstacle only 1."""
    family: Literal["box", "gap", "tilted_box", "tilted_gap"] | None = None
    """A family of obstacles, instead of flat ground."""
    sizes: tuple[float, ...] = ()
    """Sizes of that family, m."""
    side: Literal["left", "right", "both"] = "both"
    """High side of tilted obstacles."""
    robots: int = 32
    """Robots per speed and size, each a little different."""
    seconds: float = 8.0
    """How long they walk; the first 2 s are left out."""
    feet: bool = False
    """Also show a row for each foot."""
    seed: int = 1
    """Seed of starts and noise."""
    device: str = "cpu"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures to this file."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "--",
            at_least_1=("robots",),
            positive=("speeds", "seconds", "sizes"),
        )
        if self.speeds == ():
            raise UserError("--speeds names none; give at least one")
        if bool(self.sizes) != (self.family is not None):
            raise UserError("--family and --sizes go together, e.g. --family box --sizes 1 1.5")


def run(args: Args) -> int:
    device = choose_device(args.device)
    from swap.device.memory import check_memory
    from swap.evaluate.gait import measure, references
    from swap.runs.trained_robot import load_trained

    robot = load_trained(args.run, **args.code.given())
    check_memory(args.robots, device, world_model=robot.has_world_model, option="--robots")
    if args.family is not None:
        return at_edge(args, robot, device)
    speeds = args.speeds or (0.5, 1.0, 1.5, 2.0)
    several = measure(
        robot,
        speeds,
        robots=args.robots,
        seconds=args.seconds,
        device=device,
        seed=args.seed,
        feet=args.feet,
    )
    rows = [row for speed in several for row in speed]
    rows += references(robot.cfg.env.load_robot(), speeds, feet=args.feet)
    title = f"{robot.name}, iteration {robot.iteration}: gait on flat ground"
    notes = [
        "cadence: touchdowns per foot and s. clearance: how high its underside gets above the "
        "ground in a swing. duty: share of time in contact.",
        "slip: speed of the point that touches the ground. asymmetry: of left and right in "
        "cadence, clearance or duty, the largest. fallen: share that ended early.",
        "reference gaits are as planned, with legs that weigh nothing. They hold the centre of a "
        "standing foot: as the shank turns, the foot slips.",
    ]
    facts = {"robots": args.robots, "seconds": args.seconds, "seed": args.seed}
    show(Report(title, rows, notes, facts), args.json)
    return 0


def at_edge(args: Args, robot: "TrainedRobot", device: str) -> int:
    from swap.evaluate.obstacle_motion import NEAR_M, PAST_M, PUSH_S, measure

    assert args.family is not None
    rows = measure(
        robot,
        args.family,
        args.sizes,
        speeds_mps=args.speeds or (1.0,),
        trials=args.robots,
        device=device,
        seed=args.seed,
        side=args.side,
    )
    title = f"{robot.name}, iteration {robot.iteration}: at the edge of a {args.family}"
    notes = [
        f"From {NEAR_M:g} m before the edge to {PAST_M:g} m past it. index: |left - right| / (left "
        "+ right) of the forces of fore- and hind-legs, mean over trials; bias: the same signed, "
        "above 0 if the left carries more.",
        "one_foreleg: of the time on forelegs, the share on one alone. stalled: share of trials "
        "that ended standing at the wall.",
        f"take_off: what the base, at the robot's mass, gained in {PUSH_S:g} s before the hind "
        "feet left the ground for the last time, N s. fore_ and hind_: what the forces on these "
        "legs added up to in as long before their own feet left it; forward below 0: they brace.",
    ]
    facts = {"robots": args.robots, "side": args.side, "seed": args.seed}
    every = list(rows)
    show(Report(title, by_figure(every), notes))
    save(Report(title, every, notes, facts), args.json)
    return 0


def by_figure(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turns the table, since it has more figures than sizes."""
    speeds = len({row["command_mps"] for row in rows})

    def head(row: dict[str, Any]) -> str:
        at = f" at {row['command_mps']:g} m/s" if speeds > 1 else ""
        return f"{row['size']:g} {row['unit']}{at}"

    names = [name for name in rows[0] if name not in ("gait", "family", "unit", "size")]
    return [{"figure": name, **{head(row): row[name] for row in rows}} for name in names]
