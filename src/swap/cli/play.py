"""`swap play`: a film of a trained robot on courses of your choice."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from swap.cli.show import check_recording, writable
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import choose_device
from swap.errors import UserError
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.runs.trained_robot import TrainedRobot


@dataclass(frozen=True)
class Args:
    """Film a trained robot, one attempt at each course, with its depth image and command."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    family: tuple[str, ...] = ()
    """Obstacles, filmed one after the other; by default a box. swap courses lists them; yours as
    file.py:NAME."""
    size: tuple[float, ...] = ()
    """Sizes of the obstacles, each in its own unit (m, degrees); by default a quarter of what the
    robot was trained up to."""
    course: tuple[Path, ...] = ()
    """Course files, filmed after those: several obstacles in a row, see docs/courses.md."""
    mirror: bool = False
    """Film the mirror images of the courses."""
    speed: float = 1.0
    """Commanded forward speed, m/s."""
    out: Path = Path("play.mp4")
    """Film to write, .mp4 or .gif."""
    width: int = 640
    """Width of the picture in pixels."""
    fps: float = 25.0
    """Frames per second, always in real time: 50, 25, 12.5 or 10."""
    still: Path | None = None
    """Also write a strip of four pictures for each course, .png."""
    imagine: bool = False
    """Also show what the world model reconstructs, and what it predicted 2 s ago."""
    record: Path | None = None
    """Also write a page that plays in a browser, without Python, and can be looked at from all
    sides, .html."""
    seed: int = 1
    """Seed of course, start and noise."""
    device: str = "cpu"
    """cpu, cuda, or auto."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "--",
            at_least_1=("width",),
            not_negative=("size",),
            positive=("speed", "fps"),
        )


def run(args: Args) -> int:
    for path in (args.out, args.still):
        writable(path)
    check_recording(args.record)
    device = choose_device(args.device)
    import numpy as np

    from swap.courses import FAMILIES, difficulty_of, make
    from swap.courses.course_file import load_course
    from swap.runs.trained_robot import load_trained
    from swap.view.play import play, titled
    from swap.view.render import PictureCfg

    words = args.family or (() if args.course else ("box",))
    if len(args.size) not in (0, len(words)):
        raise UserError(
            f"--family names {len(words)} obstacles, --size {len(args.size)} sizes; "
            f"give as many of both"
        )
    families = [FAMILIES.from_user(word).name for word in words]
    robot = load_trained(args.run, **args.code.given())
    difficulties = (
        [difficulty_of(name, size) for name, size in zip(families, args.size, strict=True)]
        if args.size
        else [max_difficulty(robot, name) / 4 for name in families]
    )
    courses = [
        make(name, difficulty, np.random.default_rng(args.seed))
        for name, difficulty in zip(families, difficulties, strict=True)
    ]
    courses += [load_course(path).build() for path in args.course]
    if args.mirror:
        courses = [course.mirror() for course in courses]
    ends = play(
        robot,
        courses,
        args.out,
        speed_mps=args.speed,
        device=device,
        seed=args.seed,
        still=args.still,
        imagine=args.imagine,
        record=args.record,
        look=PictureCfg(width=args.width, height=2 * round(args.width * 9 / 32)),
        fps=args.fps,
    )
    for course, (end, time_s) in zip(courses, ends, strict=True):
        print(f"{titled(course)}: {end.name.lower()} after {time_s:.1f} s; {args.out}")
    return 0


def max_difficulty(robot: "TrainedRobot", family: str) -> float:
    """The difficulty up to which the robot was trained, or to which the family can be built."""
    from swap.courses import FAMILIES

    return min(robot.cfg.env.max_difficulty, FAMILIES[family].max_difficulty)
