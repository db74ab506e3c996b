"""`swap eval`: how often a trained robot succeeds, by obstacle and size."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from swap.cli.device import chosen
from swap.cli.show import Report, show, writable
from swap.errors import UserError, unknown


@dataclass(frozen=True)
class Args:
    """Measure a trained robot: success by family and size, with 95 % intervals (Wilson)."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    family: tuple[str, ...] = ()
    """Families to measure; by default those it was trained on."""
    points: int = 8
    """Sizes a family, evenly over the range of the robot's training."""
    sizes: tuple[float, ...] = ()
    """Just these sizes of the one --family, in its own unit (m or deg), in place of --points."""
    trials: int = 100
    """Trials a point; the paper's figures have 1500."""
    speed: float = 1.0
    """Commanded forward speed, m/s."""
    seed: int = 1
    """Of courses, starts and noise."""
    blind: bool = False
    """Blank the camera (nothing seen, the farthest in every pixel): what are eyes worth?"""
    device: str = "auto"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures to this file."""
    plot: Path | None = None
    """Also draw them, .png or .svg; of a run folder by default beside --json, or in the folder."""


def run(args: Args) -> int:
    plot = picture(args)
    for path in (args.json, plot):
        writable(path)
    if args.points < 1:
        raise UserError(f"--points {args.points} measures nothing; use 1 or more")
    device = chosen(args.device)
    from swap.courses import FAMILIES, difficulty_of
    from swap.evaluate.figures import drawable, success_figure, write
    from swap.evaluate.success import measure, points
    from swap.evaluate.trained import trained

    drawable(plot)
    robot = trained(args.run)
    families = args.family or tuple(name for name, _ in robot.cfg.env.families)
    for name in families:
        if name not in FAMILIES:
            raise unknown("course family", name, FAMILIES)
    if args.sizes and len(families) != 1:
        raise UserError("--sizes are of one family; name it with --family, e.g. --family box")
    wanted = points(families, args.points, robot.cfg.env.hardest)
    if args.sizes:
        wanted = [(families[0], difficulty_of(families[0], size)) for size in args.sizes]
    rows = list(
        measure(
            robot,
            wanted,
            trials=args.trials,
            speed_mps=args.speed,
            device=device,
            seed=args.seed,
            blind=args.blind,
        )
    )
    title = f"{robot.name}, iteration {robot.iteration}: success at {args.speed:g} m/s"
    notes = ["low, high: 95 % interval (Wilson). stalled: share that made no headway for 2 s."]
    if args.blind:
        title += ", blind"
        notes.append("blind: the camera was blanked, the farthest in every pixel.")
    facts = {"speed_mps": args.speed, "seed": args.seed, "blind": args.blind}
    show(Report(title, rows, notes, facts), args.json)
    if plot is not None:
        write(success_figure({robot.name: rows}, list(dict.fromkeys(families)), title), plot)
        print(f"figure: {plot}")
    return 0


def picture(args: Args) -> Path | None:
    from swap.runs.models import find_model

    path = find_model(args.run)
    if args.plot is not None or not path.is_dir():
        return args.plot
    return (args.json or path / "eval.json").with_suffix(".png")
