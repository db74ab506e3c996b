"""`swap reconstruct`: the error of the depth that a world model decodes."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from swap.cli.show import Report, save, show, writable
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.device.choice import choose_device
from swap.validate import check_numbers

NOTES = (
    "error: mean |decoded - clean| in metres, over all pixels, ticks and trials. side: where the "
    "courses are high, left as they are built, right the same mirrored.",
    "sequences: as robots made them on that side; mirrored: the same again, each image, state and "
    "action replaced by its exact mirror image.",
)


@dataclass(frozen=True)
class Args:
    """Compare what a robot's world model decodes from its latent with the camera's clean image."""

    run: tyro.conf.Positional[Path]
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    family: str = "tilted_box"
    """Course family."""
    size: float = 0.8
    """Size of the obstacle, in its own unit (m or deg)."""
    trials: int = 100
    """Trials per side, each on its own random course."""
    seconds: float = 8.0
    """Longest time of a trial, s."""
    speed: float = 1.0
    """Commanded forward speed, m/s."""
    tilt_deg: tuple[float, float] | None = None
    """Tilt tilted courses by a random angle from this range; by default as in its training."""
    recorded_by: Path | None = None
    """Another robot that acts instead, so that several models see the same sequences."""
    seed: int = 1
    """Seed of courses, starts and noise."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    json: Path | None = None
    """Also write the figures to this file, tick by tick, with maps by pixel."""
    plot: Path | None = None
    """Also draw the figures, .png or .svg."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("trials",), positive=("seconds", "speed", "size"))


def run(args: Args) -> int:
    writable(args.plot)
    device = choose_device(args.device)
    from swap.courses import difficulty_of
    from swap.device.memory import check_memory
    from swap.evaluate import reconstruction as of
    from swap.evaluate.figures import drawable, write
    from swap.evaluate.reconstruction_figure import reconstruction_figure
    from swap.evaluate.success import course_of
    from swap.runs.trained_robot import load_trained

    drawable(args.plot)
    robot = load_trained(args.run, **args.code.given())
    driver = None if args.recorded_by is None else load_trained(args.recorded_by)
    check_memory(args.trials, device, world_model=True, option="--trials")
    difficulty = difficulty_of(args.family, args.size)
    tilt_deg = args.tilt_deg or robot.cfg.env.tilt_deg
    whole, ticks, maps, gap_m = [], [], {}, 0.0
    for side in ("left", "right"):
        courses = [
            course_of(args.family, difficulty, k, seed=args.seed, side=side, tilt_deg=tilt_deg)
            for k in range(args.trials)
        ]
        found = of.reconstruct(
            robot,
            courses,
            speed_mps=args.speed,
            seconds=args.seconds,
            device=device,
            seed=args.seed,
            driver=driver,
        )
        rows = of.rows_of(side, found)
        whole += rows[0]
        ticks += rows[1]
        maps[side] = {name: of.map_of(getattr(found, name)) for name in of.SEQUENCES}
        gap_m = max(gap_m, found.gap_m)
    title = f"{robot.name}, iteration {robot.iteration}: reconstruction"
    title += f" on {args.family} {args.size:g}"
    verdict, broken = judged(gap_m, of.declared_equivariant(robot))
    show(Report(title, whole, [*NOTES, verdict]))
    facts = {
        "family": args.family,
        "size": args.size,
        "speed_mps": args.speed,
        "tilt_deg": tilt_deg,
        "recorded_by": None if driver is None else str(args.recorded_by),
        "seed": args.seed,
        "mean": whole,
        "mirror_gap_m": gap_m,
        "maps_mm": maps,
    }
    report = Report(title, ticks, [*NOTES, verdict], facts)
    save(report, args.json)
    if args.plot is not None:
        write(reconstruction_figure({robot.name: [{"rows": ticks, "facts": facts}]}), args.plot)
        print(f"figure: {args.plot}")
    return 1 if broken else 0


def judged(gap_m: float, claims: bool) -> tuple[str, bool]:
    """The verdict in words, and whether a claim was broken."""
    if gap_m == 0:
        return "mirrored sequences have the mirrored error, to the last bit", False
    difference = f"mirrored sequences have another error, by up to {gap_m:.3g} m in a pixel"
    if claims:
        return f"FAILED: the world model claims to be equivariant, but {difference}", True
    return f"{difference}; the world model does not claim to be equivariant", False
