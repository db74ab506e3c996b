"""`swap study`: trains, measures and draws all arms and seeds in one folder; called again it goes
on."""

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from swap.cli.main import prepare
from swap.device.choice import check_device_name
from swap.errors import UserError, unknown
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.study.arm_configs import Config
    from swap.study.plan import Folder
    from swap.study.study import Run, Study

HOME = Path("out/study")


@dataclass(frozen=True)
class Args:
    """Train every arm of a study with every seed, measure all robots, and draw the results.

    Call it again to go on: finished work stays, and a run goes on from its checkpoint. Ctrl-C
    saves.
    """

    study: tyro.conf.Positional[Path]
    """A study file (.toml); the name of one that comes with swap: arms, mirrored, paper-reward; or
    the folder of one that has begun."""
    out: Path | None = None
    """Folder of the study; by default out/study/NAME."""
    at_once: int = 1
    """Runs at the same time on one GPU, under NVIDIA's MPS if it is installed. On an H200, 4 at
    once make 1.5 times as many steps as one after the other. There up to four measurements
    of a run go at once, too, as far as there are cores."""
    minutes: float | None = None
    """Stop cleanly after this many minutes; the next call goes on."""
    arms: tuple[str, ...] = ()
    """Train and measure only these arms now."""
    seeds: tuple[int, ...] = ()
    """Train and measure only these seeds now."""
    only: Literal["train", "measure", "figures"] | None = None
    """Only this part. Measuring needs only the kept models; figures need only metrics and
    measurements."""
    print: bool = False
    """Make the folder and print the commands that are left, one line per run, for any scheduler."""
    slurm: tuple[str, ...] | None = None
    """Submit one job per run through submitit, with its options: partition=gpu timeout_min=60."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    allow_code: bool = False
    """Run the code that the study file names (file.py:NAME); see SECURITY.md."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("at_once",), positive=("minutes",))
        if self.slurm is not None and (self.print or self.only == "figures"):
            raise UserError("--slurm submits jobs; leave --print and --only figures out")


def run(args: Args) -> int:
    started_s = time.monotonic()
    from swap.runs.lock import locked
    from swap.study.arm_configs import begin_folder, check_configs, runs_to_begin
    from swap.study.plan import Folder, check_folder, command_lines
    from swap.study.report import write_report
    from swap.study.study import read_study

    study = read_study(args.study)
    begun = args.study if args.study.is_dir() else HOME / study.name
    folder = Folder(args.out or begun)
    if args.only == "figures":
        if not folder.study.is_file():
            raise UserError(
                f"no study has begun in '{folder.root}'; name the folder of one, e.g. swap study "
                "experiments/mirrored --only figures"
            )
        check_folder(study, folder)
        return print_files(write_report(study, folder))
    if study.code and not args.allow_code:
        raise UserError(
            f"the study names code, which is not run: {', '.join(study.code)}; "
            "if you trust it: --allow-code"
        )
    runs = chosen_runs(study, args)
    check_folder(study, folder)
    check_device_name(args.device)
    elsewhere = args.print or args.slurm is not None  # perhaps from a machine without a GPU
    new = [] if args.only == "measure" else runs_to_begin(study, folder, runs, args.device)
    configs = check(study, folder, "auto" if elsewhere else args.device, runs, new)
    check_configs(study, folder, configs)
    if args.print:
        begin_folder(study, folder, configs)
        print("\n".join(command_lines(study, folder, args.device, args.study, runs)))
        return 0
    if args.slurm is not None:
        from swap.study.slurm import submit

        begin_folder(study, folder, configs)
        jobs = submit(study, folder, args.device, args.slurm, runs)
        print(f"submitted {len(jobs)} jobs: {', '.join(str(job.job_id) for job in jobs)}")
        print(f"when they are done: {figures_command(args)}")
        return 0
    with locked(folder.root):
        begin_folder(study, folder, configs)
        return work(study, folder, runs, args, started_s)


def work(study: "Study", folder: "Folder", runs: list["Run"], args: Args, started_s: float) -> int:
    from swap.signals import exit_code
    from swap.study.report import write_report
    from swap.study.work import run_study

    done = run_study(
        study,
        folder,
        runs,
        device=args.device,
        at_once=args.at_once,
        minutes=args.minutes,
        only=args.only,
        started_s=started_s,
        say=lambda line: print(line, flush=True),
    )
    print(done.summary)
    if done.signal is not None:
        print(f"go on with: {resume_command(args)}")
        return exit_code(done.signal)
    if done.stopped:
        here = figures_command(args)
        print(f"go on with: {resume_command(args)}; what there is in figures: {here}")
        return 1 if done.failed else 0
    if args.only is None:
        print_files(write_report(study, folder))
    return 1 if done.failed else 0


def chosen_runs(study: "Study", args: Args) -> list["Run"]:
    """The runs that are asked for, in the order of the study."""
    for arm in args.arms:
        if arm not in study.arms:
            raise unknown("arm", arm, study.arms)
    for seed in args.seeds:
        if seed not in study.seeds:
            raise UserError(f"--seeds {seed}: the study has {', '.join(map(str, study.seeds))}")
    return [
        run
        for run in study.runs
        if run.arm in (args.arms or study.arms) and run.seed in (args.seeds or study.seeds)
    ]


def check(
    study: "Study", folder: "Folder", device: str, runs: list["Run"], new: list["Run"]
) -> dict[str, "Config"]:
    """Parses the commands of each arm once, so that a mistake is reported now, not after an hour;
    returns the configs of the arms of which runs are `new`."""
    from swap.cli.train import parse as parse_training
    from swap.courses.families import get_family
    from swap.registry import forget
    from swap.study.arm_configs import arm_config
    from swap.study.plan import Folder, Kind, commands_left

    nowhere, configs = Folder(folder.root / ".new"), {}
    for run in one_of_each_arm([*new, *runs]):
        for command in commands_left(study, nowhere, run, device):
            try:
                if command.kind is not Kind.TRAIN:
                    prepare(list(command.words))
                elif run in new:  # the robots that others began with may be gone
                    forget()
                    plan = parse_training(list(command.words[1:]))
                    configs[run.arm] = arm_config(plan.preset, plan.cfg)
            except UserError as error:
                said = str(error).replace(str(nowhere.root), str(folder.root))
                raise UserError(f"study '{study.name}', {command.label}: {said}") from None
    for name, words in {**study.measure, **study.film}.items():
        try:
            check_courses(words)
        except UserError as error:
            raise UserError(f"study '{study.name}', {name}: {error}") from None
    for family in study.reach if not study.code else ():
        try:
            get_family(family)
        except UserError as error:
            raise UserError(f"study '{study.name}', [reach]: {error}") from None
    return configs


def one_of_each_arm(runs: list["Run"]) -> list["Run"]:
    """The first run of each arm."""
    return list({run.arm: run for run in reversed(runs)}.values())[::-1]


def check_courses(words: tuple[str, ...]) -> None:
    """Raises a UserError for a course family that is unknown, or has no course of that size."""
    from swap.courses import difficulty_of
    from swap.courses.families import get_family
    from swap.registry import is_code
    from swap.study.study import by_option

    values: dict[str, list[str]] = {}
    for name, (first, *rest) in by_option(words):
        _, equals, value = first.partition("=")
        values[name] = [value, *rest] if equals else rest
    families = values.get("--family", [])
    sizes = [float(x) for x in (*values.get("--size", []), *values.get("--sizes", []))]
    for family in families:
        if not is_code(family):
            get_family(family)
    if len(families) == 1 and not is_code(families[0]):
        for size in sizes:
            difficulty_of(families[0], size)


def print_files(files: list[Path]) -> int:
    for file in files:
        print(f"{'report' if file.suffix == '.md' else 'figure'}: {file}")
    return 0


def figures_command(args: Args) -> str:
    return shlex.join([*_folder(args), "--only", "figures"])


def _folder(args: Args) -> list[str]:
    words = ["swap", "study", str(args.study)]
    return words if args.out is None else [*words, "--out", str(args.out)]


def resume_command(args: Args) -> str:
    """The same command again; the minutes were this sitting's."""
    words = _folder(args)
    words += ["--at-once", str(args.at_once)] if args.at_once > 1 else []
    words += ["--arms", *args.arms] if args.arms else []
    words += ["--seeds", *map(str, args.seeds)] if args.seeds else []
    words += ["--only", args.only] if args.only else []
    words += ["--device", args.device] if args.device != "auto" else []
    words += ["--allow-code"] if args.allow_code else []
    return shlex.join(words)
