"""`swap play`: a film of a trained robot on a course of your choice."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from swap.cli.device import chosen
from swap.cli.show import writable
from swap.errors import UserError


@dataclass(frozen=True)
class Args:
    """Film one attempt of a trained robot, with its depth image and command in the picture."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    family: str = "box"
    """The obstacle; swap courses lists them."""
    size: float | None = None
    """Its size in its own unit (m, degrees); by default a quarter up the range."""
    mirror: bool = False
    """The mirror image of the course."""
    speed: float = 1.0
    """Commanded forward speed, m/s."""
    out: Path = Path("play.mp4")
    """Film to write, .mp4 or .gif."""
    still: Path | None = None
    """Also a strip of four pictures, .png."""
    imagine: bool = False
    """Show what the world model makes of the camera's image, and what it foresaw 2 s ago."""
    seed: int = 1
    """Of course, start and noise."""
    device: str = "cpu"
    """cpu, cuda, or auto."""


def run(args: Args) -> int:
    for path in (args.out, args.still):
        writable(path)
    device = chosen(args.device)
    import numpy as np

    from swap.courses import difficulty_of, make
    from swap.evaluate.trained import trained
    from swap.view.play import play

    if args.seed < 0:
        raise UserError(f"--seed {args.seed} is negative; use 0 or more")
    robot = trained(args.run)
    difficulty = 0.25 if args.size is None else difficulty_of(args.family, args.size)
    course = make(args.family, difficulty, np.random.default_rng(args.seed))
    if args.mirror:
        course = course.mirror()
    end, time_s = play(
        robot,
        course,
        args.out,
        speed_mps=args.speed,
        device=device,
        seed=args.seed,
        still=args.still,
        imagine=args.imagine,
    )
    print(f"{args.family} {course.size:.2f}: {end.name.lower()} after {time_s:.1f} s; {args.out}")
    return 0
