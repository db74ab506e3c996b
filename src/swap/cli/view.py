"""`swap view`: a page in the browser on which a trained robot is driven by hand."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from swap.cli.show import Report, check_recording, needs_viser, show
from swap.cli.user_code_options import UserCode, UserCodeOptions
from swap.errors import UserError
from swap.validate import check_numbers

if TYPE_CHECKING:
    from swap.view.live.recording import Recording
    from swap.view.live.settings import Settings

BENCH_S = (0.1, 600.0)
"""The shortest and the longest row of --bench."""


@dataclass(frozen=True)
class Args:
    """Drive a trained robot in the browser, and see what it sees and imagines. Ctrl-C ends it."""

    run: tyro.conf.Positional[Path] = Path("swap")
    """Folder of a swap train run, a file that swap keep made, or a model by name: swap."""
    family: str = "box"
    """The first obstacle; the page has a menu of them."""
    size: float | None = None
    """Its size, in its own unit (m, degrees); by default a quarter up the range."""
    course: Path | None = None
    """Begin on the course of a file, or on a known one by its name, in place of an obstacle."""
    seed: int = 1
    """Of course, start and noise."""
    record: Path | None = None
    """Also write what is shown, up to 5 minutes, as a page that plays without Python, .html."""
    host: str = "127.0.0.1"
    """Where to listen: this machine only. 0.0.0.0 opens it to everyone who can reach it."""
    port: int = 8080
    """Of the page; 0 takes any that is free."""
    bench: float | None = None
    """Measure instead, so many seconds a row (0.1 to 600): does the page keep real time here?"""
    json: Path | None = None
    """Also write what --bench measures to this file."""
    code: UserCode = field(default_factory=UserCodeOptions)

    def __post_init__(self) -> None:
        check_numbers(self, "--")
        if self.bench is None:
            if self.json is not None:
                raise UserError("--json is for what --bench measures; add --bench 10, or omit it")
            return
        low, high = BENCH_S
        if not low <= self.bench <= high:
            raise UserError(
                f"--bench {self.bench:g} is out of range; use {low:g} to {high:g} seconds"
            )
        if (self.host, self.port, self.record) != (Args.host, Args.port, None):
            raise UserError(
                "--bench takes free ports of this machine and records nothing; "
                "omit --host, --port and --record"
            )


def run(args: Args) -> int:
    needs_viser()
    import torch

    from swap.courses import FAMILIES
    from swap.courses.course_file import load_course
    from swap.runs.trained_robot import load_trained
    from swap.view.live.server import LOOPBACK, PageServer, check_address
    from swap.view.live.settings import CourseChoice, Settings
    from swap.view.live.viewer import Viewer

    check_recording(args.record)
    if args.bench is None:
        check_address(args.host, args.port)
    family = FAMILIES.from_user(args.family)
    size = round(family.size.at(0.25), 2) if args.size is None else args.size
    plan = None if args.course is None else load_course(args.course)
    course = CourseChoice(family.name, size, seed=args.seed, plan=plan)
    torch.set_num_threads(1)  # networks of this size are slower on two
    if code := args.code.given():  # run here, it is known when the page loads the robot
        load_trained(args.run, **code)
    settings = Settings(model=str(args.run), course=course)
    if args.bench is not None:
        return run_bench(settings, args.bench, args.json)
    server = PageServer(args.host, args.port)
    try:
        viewer = Viewer(server, settings, record=args.record is not None)
        print(f"the robot is at {server.url}; Ctrl-C ends it", flush=True)
        if args.host != LOOPBACK:
            print(f"open to everyone who can reach {args.host}: they can watch, and drive")
        try:
            viewer.run()
        finally:  # Ctrl-C is how it ends
            if args.record is not None and viewer.recording is not None:
                keep_recording(viewer.recording, args.record)
    finally:
        server.stop()
    return 0


def keep_recording(recording: "Recording", file: Path) -> None:
    if recording.length_s == 0:
        print("nothing is recorded: the page was not opened")
        return
    recording.save(file)
    print(f"recorded {recording.length_s:.0f} s: {file}")


def run_bench(settings: "Settings", seconds: float, json: Path | None) -> int:
    """A table; exit code 1 if the plain page does not keep real time."""
    from swap.view.live.bench import measure

    rows = list(measure(settings, seconds))
    notes = [
        "of real time: what the page keeps. without waiting: how fast physics, networks and page",
        "could be. received/s: messages that a visitor in a process of its own has read.",
    ]
    show(Report(f"swap view, {seconds:g} s a row", rows, notes), json)
    return 0 if rows[0]["of real time"] > 0.98 else 1
