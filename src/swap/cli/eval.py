"""`swap eval`: how often a trained robot succeeds, by obstacle and size."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from swap.cli.show import Report, save, show, writable
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import choose_device
from swap.errors import UserError, printable
from swap.robots.friction_cone import FrictionCone
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.runs.trained_robot import TrainedRobot

QUARTERS = ("lowest quarter", "second", "third", "highest")


@dataclass(frozen=True)
class Args:
    """Measure a trained robot: success by family and size, with 95 % intervals (Wilson)."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    family: tuple[str, ...] = ()
    """Families to measure, yours as file.py:NAME; by default those it was trained on."""
    points: int = 8
    """Number of sizes per family, evenly spaced over the range of the robot's training."""
    sizes: tuple[float, ...] = ()
    """Only these sizes of the one --family, in its own unit (m or deg), instead of --points."""
    course: tuple[Path, ...] = ()
    """Course files instead of families: several obstacles in a row, see docs/courses.md."""
    trials: int = 100
    """Trials per point, each on its own random course; the paper's figures have 1500."""
    speed: tuple[float, ...] = (1.0,)
    """Commanded forward speeds, m/s, one or more."""
    side: Literal["left", "right", "both"] = "both"
    """High side of tilted courses: left, as they are built; right, the same mirrored; both, every
    second trial mirrored."""
    tilt_deg: tuple[float, float] | None = None
    """Tilt tilted courses by a random angle from this range, within 5 to 20 degrees; by default as
    in the robot's training."""
    seed: int = 1
    """Seed of courses, starts and noise."""
    blind: bool = False
    """Blank the camera: every pixel reads the farthest depth."""
    conditions: tuple[str, ...] = ()
    """Rough conditions: all, or wet, specular, dark, grass, glass, payload, pushes, weak_motor;
    each is measured beside the nominal one. swap sim2sim has more."""
    randomness: str | None = None
    """Noise and randomisation are those of this preset, e.g. swap, and not of the robot's own
    training: to compare robots whose trainings were unequally rough."""
    friction_cone: FrictionCone | None = None
    """Shape of friction in the contacts; by default that of the robot's training."""
    why: bool = False
    """Also show what failed trials have in common: success by quarters of friction, payload and
    everything else that is random."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures to this file."""
    plot: Path | None = None
    """Also draw the figures, .png or .svg; for a run folder by default beside --json, or in the
    folder as eval-TIME.png."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "--",
            at_least_1=("points", "trials"),
            not_negative=("sizes",),
            positive=("speed",),
            filled=("speed",),
        )
        if self.tilt_deg is not None:
            from swap.env.cfg import check_tilt

            check_tilt("--tilt-deg", self.tilt_deg)


def run(args: Args) -> int:
    plot = None if args.course else picture(args)
    writable(plot)
    device = choose_device(args.device)
    from swap.cli.progress import ProgressLine
    from swap.conditions import ABOUT, NOMINAL
    from swap.conditions import chosen as chosen_conditions
    from swap.courses import FAMILIES, difficulty_of
    from swap.evaluate.conditions import CONDITIONS
    from swap.evaluate.curves import by_speed
    from swap.evaluate.figures import drawable, success_figure, write
    from swap.evaluate.success import measure, points

    drawable(plot)
    if args.course:
        return run_courses(args, device)
    robot = loaded(args)
    families = tuple(FAMILIES.from_user(word).name for word in args.family) or trained_on(robot)
    if args.sizes and len(families) != 1:
        raise UserError("--sizes are of one family; name it with --family, e.g. --family box")
    wanted = points(families, args.points, robot.cfg.env.max_difficulty)
    if args.sizes:
        wanted = [(families[0], difficulty_of(families[0], size)) for size in args.sizes]
    speeds = tuple(dict.fromkeys(args.speed))
    names = chosen_conditions(args.conditions, CONDITIONS)
    rows = []
    with ProgressLine() as progress:
        for name in names or [NOMINAL]:
            found = measure(
                robot,
                wanted,
                trials=args.trials,
                speeds_mps=speeds,
                device=device,
                seed=args.seed,
                side=args.side,
                tilt_deg=args.tilt_deg,
                blind=args.blind,
                why=args.why,
                condition=CONDITIONS.get(name),
                on_progress=progress,
            )
            rows += [{"conditions": name, **row} if names else row for row in found]
    at = ", ".join(f"{speed:g}" for speed in speeds)
    title = f"{robot.name}, iteration {robot.iteration}: success at {at} m/s"
    notes = [
        "low, high: 95 % interval (Wilson). failures: how many trials ended in which way.",
        "side: the high side of tilted courses.",
    ]
    notes += [f"{name}: {ABOUT[name]}." for name in names if name != NOMINAL]
    notes += chosen_notes(args)
    if args.blind:
        title += ", blind"
        notes.append("blind: the camera was blanked, the farthest in every pixel.")
    facts = {
        "speeds_mps": speeds,
        "side": args.side,
        "tilt_deg": args.tilt_deg or robot.cfg.env.tilt_deg,
        "seed": args.seed,
        "blind": args.blind,
        **({"randomness": args.randomness} if args.randomness else {}),
        **({"friction_cone": robot.cfg.env.friction_cone} if args.friction_cone else {}),
    }
    hidden = {"difficulty", "reasons", "stalled", "causes"} | (
        {"speed"} if len(speeds) == 1 else set()
    )
    shown = [{key: x for key, x in row.items() if key not in hidden} for row in rows]
    show(Report(title, shown, notes))
    if args.why:
        for row in rows:
            if row["causes"]:
                show(reasons_table(row))
        if not any(row["causes"] for row in rows):
            print("Nothing was random: the robot's training has no randomisation.")
    save(Report(title, rows, notes, facts), args.json)
    if plot is not None:
        drawn = [row for row in rows if row.get("conditions", NOMINAL) == NOMINAL]
        arms = by_speed("" if len(speeds) > 1 else robot.name, drawn)
        write(success_figure(arms, list(dict.fromkeys(families)), title), plot)
        print(f"figure: {plot}")
    return 0


def run_courses(args: Args, device: str) -> int:
    """Measures success on course files; a wrong file is reported before the work starts."""
    from swap.cli.progress import ProgressLine
    from swap.courses.course_file import load_course
    from swap.evaluate.course_trials import measure_courses

    if any((args.family, args.sizes, args.why, args.plot, args.tilt_deg, args.conditions)):
        raise UserError(
            "--course has no --family, --sizes, --why, --plot, --tilt-deg or --conditions; "
            "leave out"
        )
    plans = [load_course(path) for path in args.course]
    robot = loaded(args)
    with ProgressLine() as progress:
        rows = list(
            measure_courses(
                robot,
                plans,
                trials=args.trials,
                speeds_mps=tuple(dict.fromkeys(args.speed)),
                device=device,
                seed=args.seed,
                side=args.side,
                blind=args.blind,
                on_progress=progress,
            )
        )
    title = f"{robot.name}, iteration {robot.iteration}: success on courses"
    title += ", blind" if args.blind else ""
    notes = [
        "low, high: 95 % interval (Wilson). ended at: the piece where trials that failed ended.",
        "It was trained on one obstacle at a time.",
    ]
    notes += chosen_notes(args)
    facts = {"side": args.side, "seed": args.seed, "blind": args.blind}
    show(Report(title, rows, notes, facts), args.json)
    return 0


def loaded(args: Args) -> "TrainedRobot":
    from swap.evaluate.env_overrides import with_friction_cone, with_randomness
    from swap.runs.trained_robot import load_trained

    robot = load_trained(args.run, **args.code.given())
    if args.randomness is not None:
        robot = with_randomness(robot, args.randomness)
    if args.friction_cone is not None:
        robot = with_friction_cone(robot, args.friction_cone)
    return robot


def chosen_notes(args: Args) -> list[str]:
    """What is not as in the robot's training."""
    notes = []
    if args.randomness:
        notes.append(f"randomness: noise and randomisation of the preset {args.randomness}.")
    if args.friction_cone:
        notes.append(f"friction cones: {args.friction_cone}.")
    return notes


def trained_on(robot: "TrainedRobot") -> tuple[str, ...]:
    """The families of its training that are known here; a line names the others."""
    from swap.courses import FAMILIES

    names = [name for name, _ in robot.cfg.env.families]
    missing = [name for name in names if name not in FAMILIES]
    if len(missing) == len(names):
        raise UserError(f"it was trained on {', '.join(missing)}, which a file names; use --family")
    for name in map(printable, missing):
        print(f"left out: {name} of its training, which is code; --family {name} runs it")
    return tuple(name for name in names if name not in missing)


def reasons_table(row: dict[str, Any]) -> Report:
    """The table of causes for one point; each cell is a range of values and the success of the
    trials in it."""
    lines = []
    for cause in row["causes"]:
        cells = [f"{p['low']:.3g} to {p['high']:.3g}: {p['success']:.0%}" for p in cause["parts"]]
        cells += [""] * (4 - len(cells))
        lines.append({"what": cause["what"], **dict(zip(QUARTERS, cells, strict=True))})
    rate, title = row["success"], f"{row['family']} {row['size']:.3g} {row['unit']}"
    chance = 2 * math.sqrt(rate * (1 - rate) / max(1, row["trials"] / 4))
    note = f"By chance alone the success of a quarter is within {chance:.0%} of {rate:.0%}."
    return Report(
        f"{title} at {row['speed']:g} m/s: success by what was random",
        lines,
        [note],
    )


def picture(args: Args) -> Path | None:
    """Where the figure goes, if anywhere. In a run folder no figure replaces another one; a folder
    of a checkpoint, which is removed sooner or later, gets none."""
    from swap.runs.checkpoint import FOLDER
    from swap.runs.saved_model import find_model

    run = find_model(args.run)
    if args.plot is not None or not (run / FOLDER).is_dir():
        return args.plot
    named = args.json and args.json.with_suffix(".png")
    usual = named or run / time.strftime("eval-%Y%m%d-%H%M%S.png")
    try:
        writable(usual)
    except UserError as error:  # it was not asked for, and a run of others can be measured, too
        print(f"no figure: {error}, by --plot")
        return None
    return usual
