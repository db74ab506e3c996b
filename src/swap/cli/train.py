"""`swap train`: trains a preset, starts from a saved robot, or resumes a run."""

import contextlib
import dataclasses
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from swap.cli.main import parse as parse_options
from swap.cli.train_argv import HOME, check_camera, expand_options, option_value
from swap.device.choice import choose_device
from swap.distributed import (
    PeerLostError,
    ProcessGroup,
    init_process_group,
    local_device,
    torchrun_group,
)
from swap.errors import UserError
from swap.files import try_file
from swap.presets.table import PRESETS, TrainCfg, get_preset
from swap.presets.user_code import options_of, preset_from_user, run_code, typed_again
from swap.registry import is_code
from swap.runs import Checkpoint, RunResult, load, seed_everything, train
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.console import clock, short
from swap.runs.migrations import as_stored
from swap.runs.noise_and_rate import with_config
from swap.runs.resume import changed, stored_config, with_goals, without_goals
from swap.runs.saved_model import SavedModel, find_run, read_model
from swap.runs.stored_robot import print_robot_changes, with_robot
from swap.runs.warm_start import config_from, start_from
from swap.streams import resilient_output

PAUSE_S = 3.0
"""How long a process that does not lead waits before it reports a mistake, s."""


@dataclass(frozen=True)
class Args:
    """Train a robot; every option of the preset can be set here. Ctrl-C saves and ends."""

    cfg: Annotated[TrainCfg, tyro.conf.arg(name="")] = field(default_factory=TrainCfg)
    preset: str | None = None
    """Preset to train: a name (an unknown one lists all), auto for what suits this machine, or your
    own as file.py:NAME or package.module:NAME, whose code is run."""
    out: Path | None = None
    """Folder of the run; by default a new one in out/train."""
    resume: Path | None = None
    """Go on with the run in this folder; without a folder, with the newest run in out/train."""
    begin: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Start a new run from the robot in this run folder or file of swap keep, or from a model by
    name; preset and options are the robot's unless you give others."""
    device: str = "auto"
    """cpu, cuda, or auto."""


@dataclass(frozen=True)
class Plan:
    """All that is decided before anything is built."""

    preset: str
    cfg: TrainCfg
    folder: Path
    device: str
    started_s: float
    resume: Checkpoint | None
    model: SavedModel | None = None
    """The model that a new run begins with."""
    origin: str | None = None
    """The path or name of that model, as the user gave it."""


@contextlib.contextmanager
def report_once() -> Iterator[None]:
    """If several processes find the same mistake, the first one reports it and torchrun ends the
    others meanwhile; a mistake that only one of them finds is reported, too."""
    try:
        yield
    except UserError:
        if torchrun_group().rank:
            time.sleep(PAUSE_S)
        raise


@report_once()
def parse(options: list[str]) -> Plan:
    """Finds the preset first, which decides what other options there are, and then parses them."""
    started_s = time.monotonic()
    options = expand_options(options)
    resumed, name = option_value(options, "--resume"), option_value(options, "--preset")
    origin = option_value(options, "--from")
    if resumed and origin:
        raise UserError("--from starts a new run, --resume goes on with one; give only one")
    if name is not None and (is_code(name) or not resumed):
        preset_from_user(name, say)
    checkpoint = load(find_run(Path(resumed)), say) if resumed else None
    model = read_model(Path(origin), say) if origin else None
    own_config = model is not None and name is None
    robot = option_value(options, "--env.robot")
    if checkpoint:
        name, stored = stored_config(checkpoint, name)
        default = without_goals(stored)
    else:
        if model:
            name, default = config_from(model, name)
        else:
            default = get_preset(name) if name else TrainCfg()
        if any(option_value(options, goal) is not None for goal in ("--iterations", "--steps")):
            default = without_goals(default)  # a given goal replaces the preset's
    check_camera(options, name, default)
    about = f"{Args.__doc__} On several GPUs: torchrun --nproc-per-node 4 -m swap train ..."
    about += f" Presets: {', '.join(PRESETS)}."
    start = Args(cfg=default)
    args = parse_options(Args, "swap train", options, default=start, description=about)
    if name is None:
        raise UserError(f"swap train needs --preset NAME; known: {', '.join(PRESETS)}")
    device = local_device(choose_device(args.device))
    run_code(options_of(args.cfg), lambda flag: option_value(options, flag) is not None, say)
    cfg = with_robot(args.cfg, robot, say)
    if checkpoint or model:
        print_robot_changes(default, cfg, robot, say)
    if checkpoint is None:
        short_name = re.sub(r"\W+", "-", name.split(":")[-1])  # a model's name may be a stranger's
        folder = new_folder(args.out or HOME / f"{short_name}-{time.strftime('%Y%m%d-%H%M%S')}")
        if own_config:
            say(*changed(dataclasses.replace(default, run=cfg.run), cfg))
        return Plan(name, cfg, folder, device, started_s, None, model, origin)
    folder = checkpoint.path.parent.parent
    if args.out is not None and args.out.resolve() != folder.resolve():
        raise UserError("a resumed run goes on in its own folder; omit --out")
    if cfg.seed != stored.seed:
        raise UserError(f"a resumed run keeps its seed, {stored.seed}; omit --seed")
    check_folder(folder, f"begin a new run with its robot: --from {shlex.quote(str(folder))}")
    say(*changed(default, cfg))
    checkpoint = with_config(checkpoint, stored, cfg)
    cfg = with_goals(cfg, stored, checkpoint)
    origin = checkpoint.config.get("from")
    return Plan(name, cfg, folder, device, started_s, checkpoint, None, origin)


def new_folder(folder: Path) -> Path:
    if numbered(folder / FOLDER):
        raise UserError(
            f"'{folder}' already holds a run; go on with it by --resume {folder}, "
            "or give another --out"
        )
    check_folder(folder, "give another --out")
    return folder


def check_folder(folder: Path, mend: str) -> None:
    """Raises a UserError if nothing can be written there, before anything is built; leaves no
    files."""
    there = next(place for place in (folder, *folder.parents) if os.path.exists(place))
    try:
        try_file(there / ".try")
    except OSError as error:
        raise UserError(f"cannot write into '{folder}' ({error.strerror}); {mend}") from None


@report_once()
def run(plan: Plan) -> int:
    try:
        with resilient_output(), init_process_group(plan.device) as processes:
            return work(plan, processes)
    except PeerLostError as error:
        print(f"swap: {error}; that one has said why, or was killed", file=sys.stderr)
        return 1


def work(plan: Plan, processes: ProcessGroup) -> int:
    seed_everything(plan.cfg.seed + processes.rank)
    memory = plan.cfg.check_memory(plan.device, processes)
    at = f"from iteration {plan.resume.iteration}, " if plan.resume else ""
    if plan.model:
        at = f"from {plan.origin} (iteration {plan.model.iteration}), "
    place = plan.device if processes.alone else f"{plan.device} and {processes.size - 1} more"
    say(f"{plan.preset} on {place}: {at}seed {plan.cfg.seed}, into {plan.folder}")
    if memory:
        say(memory)
    trainable = plan.cfg.build(plan.device, processes)
    if plan.model and (anew := start_from(plan.model, trainable, plan.cfg)):
        say(f"not kept in {plan.origin}, begins anew: {', '.join(anew)}")
    record = {"from": plan.origin} if plan.origin else {}
    outcome = train(
        trainable,
        plan.folder,
        plan.cfg.run,
        config={**as_stored(plan.preset, plan.cfg), **record},
        resume=plan.resume,
        started_s=plan.started_s,
        processes=processes,
    )
    if not processes.rank:
        print_end(plan, outcome, processes)
    return outcome.exit_code


def print_end(plan: Plan, outcome: RunResult, processes: ProcessGroup) -> None:
    if outcome.fault:
        print(f"swap: {outcome.fault}", file=sys.stderr)
        return
    if outcome.interrupted and outcome.saved is None:
        print("swap: stopped", file=sys.stderr)
        return
    start = "" if processes.alone else f"torchrun --nproc-per-node {processes.size} -m "
    again = start + f"swap train --resume {shlex.quote(str(plan.folder))}"
    again += typed_again(plan.preset, plan.cfg)
    kept = outcome.saved.name if outcome.saved else "nothing"
    steps = f"{short(outcome.metrics.get('steps', 0))} steps, " if outcome.metrics else ""
    summary = f"{outcome.iteration} iterations, {steps}{clock(outcome.elapsed_s)}; saved {kept}"
    if outcome.interrupted:
        print(f"stopped: {summary}; go on with: {again}")
    elif not outcome.metrics and plan.resume:
        print(f"nothing left to do: {summary}; give --minutes or --iterations for more: {again}")
    else:
        print(f"done: {summary} in {plan.folder}")


def say(*lines: str) -> None:
    """Prints lines once, however many processes there are."""
    if not torchrun_group().rank:
        for line in lines:
            print(line, flush=True)
