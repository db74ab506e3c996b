"""`swap study`: arms x seeds trained, measured and drawn in one folder; called again it goes on."""

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from swap.cli.main import prepare
from swap.errors import UserError, unknown
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.study.plan import Folder
    from swap.study.study import Run, Study

HOME = Path("out/study")


@dataclass(frozen=True)
class Args:
    """Train every arm of a study with every seed, measure all robots, draw what they differ in.

    Call it again to go on: what is done stays, a run goes on from its checkpoint. Ctrl-C saves.
    """

    study: tyro.conf.Positional[Path]
    """A study file (.toml); one that ships, by name: arms, mirrored, paper-reward; or the folder of
    one that has begun."""
    out: Path | None = None
    """Its folder; by default out/study/NAME."""
    at_once: int = 1
    """Runs at once on one GPU, under NVIDIA's MPS where it is there: 4 make half as many steps
    again as one after the other on an H200."""
    minutes: float | None = None
    """Stop cleanly after so many; the next call goes on."""
    arms: tuple[str, ...] = ()
    """Only these arms now."""
    seeds: tuple[int, ...] = ()
    """Only these seeds now."""
    only: Literal["train", "measure", "figures"] | None = None
    """Only this part: measuring needs the kept models, figures just metrics and measurements."""
    print: bool = False
    """Make the folder and print the commands that are left: a line a run, for any scheduler."""
    slurm: tuple[str, ...] | None = None
    """Submit a job a run through submitit, with its options: partition=gpu timeout_min=60."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    allow_code: bool = False
    """Run the code that the study file names (file.py:NAME): as SECURITY.md says, only you can."""

    def __post_init__(self) -> None:
        check_numbers(self, "--", at_least_1=("at_once",), positive=("minutes",))
        if self.slurm is not None and (self.print or self.only == "figures"):
            raise UserError("--slurm submits jobs; leave --print and --only figures out")


def run(args: Args) -> int:
    started_s = time.monotonic()
    from swap.runs.lock import locked
    from swap.study.plan import Folder, begin, lines
    from swap.study.report import write_report
    from swap.study.study import read_study

    study = read_study(args.study)
    begun = args.study if args.study.is_dir() else HOME / study.name
    folder = Folder(args.out or begun)
    if args.only == "figures":
        if not folder.study.is_file():
            raise UserError(f"no study has begun in '{folder.root}'; name its folder with --out")
        return drawn(write_report(study, folder))
    if study.code and not args.allow_code:
        raise UserError(
            f"the study names code, which is not run: {', '.join(study.code)}; "
            "if you trust it: --allow-code"
        )
    runs = chosen_runs(study, args)
    check(study, folder, args.device)
    if args.print:
        begin(study, folder)
        print("\n".join(lines(study, folder, args.device, args.study, runs)))
        return 0
    if args.slurm is not None:
        from swap.study.slurm import submit

        begin(study, folder)
        jobs = submit(study, folder, args.device, args.slurm, runs)
        print(f"submitted {len(jobs)} jobs: {', '.join(str(job.job_id) for job in jobs)}")
        print(f"when they are done: {again(args)} --only figures")
        return 0
    with locked(folder.root):
        begin(study, folder)
        return work(study, folder, runs, args, started_s)


def work(study: "Study", folder: "Folder", runs: list["Run"], args: Args, started_s: float) -> int:
    from swap.signals import exit_code
    from swap.study.report import write_report
    from swap.study.work import work_off

    done = work_off(
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
    print(done.told)
    if done.signal is not None:
        print(f"go on with: {again(args)}")
        return exit_code(done.signal)
    if done.stopped:
        print(f"go on with: {again(args)}; what there is in figures: {again(args)} --only figures")
        return 0
    if args.only is None:
        drawn(write_report(study, folder))
    return 1 if done.failed else 0


def chosen_runs(study: "Study", args: Args) -> list["Run"]:
    """Those that are asked for, in the study's order."""
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


def check(study: "Study", folder: "Folder", device: str) -> None:
    """Read every command once, as the shell would: a mistake is told now, not after an hour."""
    from swap.study.plan import Folder, left
    from swap.study.study import Run

    nowhere = Folder(folder.root / ".new")
    for arm in study.arms:
        for command in left(study, nowhere, Run(arm, study.seeds[0]), device):
            try:
                prepare(list(command.words))
            except UserError as error:
                raise UserError(f"study '{study.name}', {command.label}: {error}") from None


def drawn(files: list[Path]) -> int:
    for file in files:
        print(f"{'report' if file.suffix == '.md' else 'figure'}: {file}")
    return 0


def again(args: Args) -> str:
    words = ["swap", "study", str(args.study)]
    words += ["--out", str(args.out)] if args.out is not None else []
    words += ["--at-once", str(args.at_once)] if args.at_once > 1 else []
    return shlex.join(words)
