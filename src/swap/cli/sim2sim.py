"""`swap sim2sim`: how often a bundle succeeds in another simulator, by obstacle and size."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from swap.cli.show import Report, show
from swap.device.choice import choose_device
from swap.errors import UserError
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.deploy.bundle import Bundle

NOT_SERVED = ("points", "trials", "conditions", "beside", "as_trained", "json")
"""Options of a measurement, which one trial with --serve is not."""
PATIENCE_S = 30.0
"""Of a robot that waits for its controller."""


@dataclass(frozen=True)
class Args:
    """Measure a bundle with a robot that is another process: C MuJoCo at 1 kHz with its own motors,
    camera, latencies and errors. The controller of deploy/ knows it by messages only."""

    bundle: tyro.conf.Positional[Path]
    """A folder that swap export wrote."""
    family: tuple[str, ...] = ("box", "gap")
    """Families to measure."""
    points: int = 3
    """Sizes a family, evenly over its range."""
    sizes: tuple[float, ...] = ()
    """Just these sizes of the one --family, in its own unit (m or deg), in place of --points."""
    trials: int = 20
    """Trials a point, each on a course of its own."""
    speed: float = 1.0
    """Commanded forward speed, m/s."""
    side: Literal["left", "right", "both"] = "both"
    """Where courses are high that have a high side."""
    seed: int = 1
    """Of courses, robots and errors."""
    conditions: tuple[str, ...] = ()
    """Rough conditions: all, or wet, specular, dark, grass, glass, rubble, carpet, payload, pushes,
    weak_motor, leg_hit; each is measured beside the nominal one."""
    beside: Path | None = None
    """The model that the bundle was made of: also measured by swap eval, on the same courses."""
    randomness: str | None = None
    """With --beside: the noise and randomisation of this preset, and not of the robot's own
    training. What sim2sim draws is about as wide as those of swap."""
    robot: str | None = None
    """Refuse a bundle of another robot than this."""
    renderer: Literal["rays", "gl"] = "rays"
    """How the robot's camera sees: MuJoCo's rays, or its OpenGL renderer (MUJOCO_GL=egl)."""
    as_trained: bool = False
    """Physics in steps of 5 ms with the friction cones of training, in place of 1 ms with elliptic
    ones: what then is lost is not the physics'. The cones are those of the --beside MODEL, or
    pyramids."""
    real_time: bool = False
    """By the clock; without it the two processes wait for each other, and a seed tells all."""
    serve: Path | None = None
    """Instead: a simulated robot at this link, e.g. /dev/shm/robot, in real time, for a controller
    that you start with python -m swap.deploy run; one trial of the first --sizes, or of the
    smallest."""
    json: Path | None = None
    """Also write the figures to this file."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "--",
            at_least_1=("points", "trials"),
            not_negative=("sizes",),
            positive=("speed",),
            filled=("family",),
        )
        if self.randomness is not None and self.beside is None:
            raise UserError("--randomness is that of swap eval; add --beside MODEL")
        if self.serve is not None:
            known = {f.name: f.default for f in fields(self)}
            vain = [name for name in NOT_SERVED if getattr(self, name) != known[name]]
            if vain:
                words = ", ".join(f"--{name.replace('_', '-')}" for name in vain)
                raise UserError(f"--serve is one trial, and measures nothing; leave out {words}")


def run(args: Args) -> int:
    from swap.cli.progress import ProgressLine
    from swap.conditions import ABOUT, NOMINAL
    from swap.conditions import chosen as chosen_conditions
    from swap.courses import FAMILIES, difficulty_of
    from swap.deploy.bundle import read_bundle
    from swap.evaluate.env_overrides import with_randomness
    from swap.evaluate.success import Progress, check_speed, points
    from swap.evaluate.success import measure as evaluate
    from swap.export.check import made_of
    from swap.runs.trained_robot import load_trained
    from swap.sim2sim.cfg import SimCfg, as_trained
    from swap.sim2sim.conditions import CONDITIONS, under
    from swap.sim2sim.measure import measure

    check_speed(args.speed)
    bundle = read_bundle(args.bundle, robot=args.robot)
    families = tuple(FAMILIES.from_user(word).name for word in args.family)
    if args.sizes and len(families) != 1:
        raise UserError("--sizes are of one family; name it with --family, e.g. --family box")
    wanted = points(families, args.points)
    if args.sizes:
        wanted = [(families[0], difficulty_of(families[0], size)) for size in args.sizes]
    if args.serve is not None:
        return rehearsal(args, bundle, *wanted[0])
    model = None if args.beside is None else load_trained(args.beside)
    notes = ["low, high: 95 % interval (Wilson). failures: how many trials ended so."]
    if model is not None and not made_of(bundle, model):
        its = f"{bundle.spec.model}, iteration {bundle.spec.iteration}"
        notes.append(
            f"{args.beside} is not what the bundle was made of ({its}): these are two robots."
        )
        print(notes[-1], flush=True)  # before the work, which may take long
    if model is not None and args.randomness is not None:
        model = with_randomness(model, args.randomness)
    physics = SimCfg()
    if args.as_trained:
        physics = as_trained() if model is None else as_trained(model.cfg.env.friction_cone)
    names = chosen_conditions(args.conditions, CONDITIONS)
    rows: list[dict[str, Any]] = []
    with ProgressLine() as progress:
        for k, name in enumerate(names or [NOMINAL]):

            def tell(ended: int, each: int, before: int = k) -> None:
                total = each * max(1, len(names))
                done = before * each + ended
                progress(Progress(done, total, done / total))

            found = measure(
                bundle,
                wanted,
                trials=args.trials,
                speed_mps=args.speed,
                seed=args.seed,
                side=args.side,
                cfg=under(physics, name),
                renderer=args.renderer,
                real_time=args.real_time,
                told=tell,
            )
            rows += [{"conditions": name, **row} if names else row for row in found]
    notes += [f"{name}: {ABOUT[name]}." for name in names if name != NOMINAL]
    if model is not None:
        same = evaluate(
            model,
            wanted,
            trials=args.trials,
            speeds_mps=(args.speed,),
            device=choose_device("cpu"),
            seed=args.seed,
            side=args.side,
        )
        for row, other in zip(rows, same, strict=False):
            row |= {"swap eval": other["success"], "its low": other["low"]}
            row |= {"its high": other["high"]}
        note = f"swap eval: torch and training's simulator, {args.beside}, same courses"
        notes.append(f"{note}, randomness of {args.randomness or 'its training'}.")
    how = "in real time" if args.real_time else "in lock-step"
    how += ", physics as trained" if args.as_trained else ", 1 kHz"
    title = f"{args.bundle}: success at {args.speed:g} m/s in another simulator, {how}"
    facts = {"bundle": bundle.seal, "seed": args.seed, "renderer": args.renderer}
    show(Report(title, rows, notes, facts), args.json)
    return 0


def rehearsal(args: Args, bundle: "Bundle", family: str, difficulty: float) -> int:
    """Exit code 1 if the robot did not get there."""
    from swap.evaluate.success import course_of
    from swap.sim2sim.cfg import SimCfg, Trial
    from swap.sim2sim.process import NO_CONTROLLER
    from swap.sim2sim.rehearsal import rehearse

    assert args.serve is not None
    course = course_of(family, difficulty, 0, seed=args.seed, side=args.side)
    trial = Trial(course, args.seed, args.speed, PATIENCE_S)
    outcome = rehearse(bundle, args.serve, trial, SimCfg(), args.renderer, PATIENCE_S)
    if outcome.reason == NO_CONTROLLER:
        print(f"no controller sent a command within {PATIENCE_S:g} s; only an --armed one does")
        return 1
    print(f"{family} of {course.size:.3g}: {outcome.reason} after {outcome.time_s:.1f} s")
    return 0 if outcome.success else 1
