"""`swap gait`: how a trained robot walks on flat ground, beside the reference gaits."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from swap.cli.show import Report, show, writable
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import chosen
from swap.validate import check_numbers


@dataclass(frozen=True)
class Args:
    """Measure how a trained robot walks on flat ground: cadence, clearance, slip, effort."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    speeds: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)
    """Commanded forward speeds, m/s."""
    robots: int = 32
    """Robots a speed, each a little different."""
    seconds: float = 8.0
    """How long they walk; the first 2 s are left out."""
    feet: bool = False
    """Also a row for each foot."""
    seed: int = 1
    """Of starts and noise."""
    device: str = "cpu"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures to this file."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(
            self, "--", at_least_1=("robots",), positive=("speeds", "seconds"), filled=("speeds",)
        )


def run(args: Args) -> int:
    writable(args.json)
    device = chosen(args.device)
    from swap.device.memory import check_memory
    from swap.evaluate.gait import measure, references
    from swap.runs.trained_robot import load_trained

    robot = load_trained(args.run, **args.code.given())
    check_memory(args.robots, device, world_model=robot.has_world_model, option="--robots")
    several = measure(
        robot,
        args.speeds,
        robots=args.robots,
        seconds=args.seconds,
        device=device,
        seed=args.seed,
        feet=args.feet,
    )
    rows = [row for speed in several for row in speed]
    rows += references(robot.cfg.env.load_robot(), args.speeds, feet=args.feet)
    title = f"{robot.name}, iteration {robot.iteration}: gait on flat ground"
    notes = [
        "cadence: touchdowns of a foot a second. clearance: how high its underside gets above the "
        "ground in a swing. duty: share of time in contact.",
        "slip: speed of the point that touches the ground. asymmetry: of left and right in "
        "cadence, clearance or duty, the largest. fallen: share that ended early.",
        "reference gaits are as planned, with legs that weigh nothing. They hold the centre of a "
        "standing foot: as the shank turns, the foot slips.",
    ]
    facts = {"robots": args.robots, "seconds": args.seconds, "seed": args.seed}
    show(Report(title, rows, notes, facts), args.json)
    return 0
