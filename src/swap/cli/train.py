"""`swap train`: a preset with its options, a robot to begin with, or a run to go on with, in; a
trained run folder out."""

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
from typing import Annotated, Any, TypeVar

import tyro

from swap.cli.main import parse as parse_options
from swap.device.choice import chosen
from swap.device.memory import check_memory
from swap.distributed import (
    PeerLostError,
    ProcessGroup,
    init_process_group,
    local_device,
    torchrun_group,
)
from swap.errors import UserError, printable
from swap.files import try_file
from swap.presets import TrainCfg
from swap.presets.kinds import class_of, shown
from swap.presets.parkour import ParkourCfg
from swap.presets.table import PRESETS, get_preset
from swap.presets.user_code import options_of, preset_from_user, run_code, typed_again
from swap.registry import is_code
from swap.runs import Checkpoint, from_json, load, seed_everything, to_json, train
from swap.runs.checkpoint import FOLDER, LATEST, numbered
from swap.runs.config import changes
from swap.runs.console import clock, short
from swap.runs.migrations import as_stored, option_today
from swap.runs.safe_read import is_nonnegative
from swap.runs.saved_model import SavedModel, find_run, read_model
from swap.runs.stored_robot import tell_robot, with_robot
from swap.runs.warm_start import config_from, start_from
from swap.signals import exit_code
from swap.streams import resilient_output

N = TypeVar("N", int, float)

HOME = Path("out/train")
"""Where runs go that are given no folder, and where a bare --resume looks."""
ROBOT_DATA = "env.robot_data"
"""The key of all facts of a robot, whose changes have lines of their own."""
PAIRS = ("--env.families", "--env.rewards.terms")
"""Options of names and numbers, which may be typed as name=number."""
PAUSE_S = 3.0
"""How long a process that does not lead keeps a mistake to itself."""


@dataclass(frozen=True)
class Args:
    """Train a robot; every option of the preset can be set here. Ctrl-C saves and ends."""

    cfg: Annotated[TrainCfg, tyro.conf.arg(name="")] = field(default_factory=TrainCfg)
    preset: str | None = None
    """What to train, or a preset of yours, file.py:NAME or package.module:NAME, which runs; auto is
    what suits this machine, an unknown name lists what there is."""
    out: Path | None = None
    """Folder of the run; by default a new one in out/train."""
    resume: Path | None = None
    """Go on with the run in this folder; without a folder, with the newest one in out/train."""
    begin: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Start a new run from the robot in this run folder or file of swap keep, or from a model by
    name, with its preset and options where no others are given."""
    device: str = "auto"
    """cpu, cuda, or auto."""


@dataclass(frozen=True)
class Plan:
    """All that is known before anything is built."""

    preset: str
    cfg: TrainCfg
    folder: Path
    device: str
    started_s: float
    resume: Checkpoint | None
    model: SavedModel | None = None
    """What a new run begins with."""
    origin: str | None = None
    """Where that is or was, as it was given."""


@contextlib.contextmanager
def one_voice() -> Iterator[None]:
    """Of several processes that find the same mistake, the first tells it and torchrun ends the
    others meanwhile; what only one of them finds is told too."""
    try:
        yield
    except UserError:
        if torchrun_group().rank:
            time.sleep(PAUSE_S)
        raise


@one_voice()
def parse(options: list[str]) -> Plan:
    """Which preset comes first; it says which other options there are."""
    started_s = time.monotonic()
    check_renamed(options)
    options = name_resumed(suited(split_pairs(options)))
    resumed, name = given(options, "--resume"), given(options, "--preset")
    origin = given(options, "--from")
    if resumed and origin:
        raise UserError("--from starts a new run, --resume goes on with one; give only one")
    if name is not None and (is_code(name) or not resumed):
        preset_from_user(name, say)
    checkpoint = load(find_run(Path(resumed)), say) if resumed else None
    model = read_model(Path(origin), say) if origin else None
    own_config = model is not None and name is None
    robot = given(options, "--env.robot")
    if checkpoint:
        name, stored = remembered(checkpoint, name)
        default = aimless(stored)
    else:
        if model:
            name, default = config_from(model, name)
        else:
            default = get_preset(name) if name else TrainCfg()
        if any(given(options, goal) is not None for goal in ("--iterations", "--steps")):
            default = aimless(default)  # a goal that is given takes the place of the preset's
    about = f"{Args.__doc__} On several GPUs: torchrun --nproc-per-node 4 -m swap train ..."
    about += f" Presets: {', '.join(PRESETS)}."
    start = Args(cfg=default)
    args = parse_options(Args, "swap train", options, default=start, description=about)
    if name is None:
        raise UserError(f"swap train needs --preset NAME; known: {', '.join(PRESETS)}")
    device = local_device(chosen(args.device))
    run_code(options_of(args.cfg), lambda flag: given(options, flag) is not None, say)
    cfg = with_robot(args.cfg, robot, say)
    if checkpoint or model:
        tell_robot(default, cfg, robot, say)
    if checkpoint is None:
        short_name = re.sub(r"\W+", "-", name.split(":")[-1])  # a model's may be a stranger's
        folder = args.out or HOME / f"{short_name}-{time.strftime('%Y%m%d-%H%M%S')}"
        if numbered(folder / FOLDER):
            raise UserError(
                f"'{folder}' already holds a run; go on with it by --resume {folder}, "
                "or give another --out"
            )
        check_folder(folder)
        if own_config:
            tell_changes(dataclasses.replace(default, run=cfg.run), cfg)
        return Plan(name, cfg, folder, device, started_s, None, model, origin)
    folder = checkpoint.path.parent.parent
    if args.out is not None and args.out.resolve() != folder.resolve():
        raise UserError("a resumed run goes on in its own folder; leave --out away")
    if cfg.seed != stored.seed:
        raise UserError(f"a resumed run keeps its seed, {stored.seed}; leave --seed away")
    check_folder(folder)
    tell_changes(default, cfg)
    cfg = extended(cfg, stored, checkpoint)
    origin = checkpoint.config.get("from")
    return Plan(name, cfg, folder, device, started_s, checkpoint, None, origin)


def tell_changes(old: TrainCfg, new: TrainCfg) -> None:
    for line in changes(to_json(old), to_json(new)):
        if not line.startswith(("run.minutes ", "run.iterations ", "run.steps ", ROBOT_DATA)):
            say(f"changed: {printable(line)}")


def check_folder(folder: Path) -> None:
    """One line if nothing can be written there, now and not when all is built; nothing is left."""
    there = next(place for place in (folder, *folder.parents) if os.path.exists(place))
    try:
        try_file(there / ".try")
    except OSError as error:
        raise UserError(f"cannot write into '{folder}' ({error.strerror})") from None


def aimless(cfg: TrainCfg) -> TrainCfg:
    """The same without a goal."""
    none = dataclasses.replace(cfg.run, minutes=None, iterations=None, steps=None)
    return dataclasses.replace(cfg, run=none)


@one_voice()
def run(plan: Plan) -> int:
    try:
        with resilient_output(), init_process_group(plan.device) as processes:
            return work(plan, processes)
    except PeerLostError as error:
        print(f"swap: {error}; that one has said why, or was killed", file=sys.stderr)
        return 1


def work(plan: Plan, processes: ProcessGroup) -> int:
    seed_everything(plan.cfg.seed + processes.rank)
    memory = memory_of(plan.cfg, plan.device, processes)
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
    code = 0 if outcome.signal is None else exit_code(outcome.signal)
    if processes.rank:
        return code
    start = "" if processes.alone else f"torchrun --nproc-per-node {processes.size} -m "
    again = start + f"swap train --resume {shlex.quote(str(plan.folder))}"
    again += typed_again(plan.preset, plan.cfg)
    if outcome.fault:
        print(f"swap: {outcome.fault}", file=sys.stderr)
        return 1
    if outcome.interrupted and outcome.saved is None:
        print("swap: stopped", file=sys.stderr)
        return code
    kept = outcome.saved.name if outcome.saved else "nothing"
    steps = f"{short(outcome.metrics.get('steps', 0))} steps, " if outcome.metrics else ""
    told = f"{outcome.iteration} iterations, {steps}{clock(outcome.elapsed_s)}; saved {kept}"
    if outcome.interrupted:
        print(f"stopped: {told}; go on with: {again}")
    elif not outcome.metrics and plan.resume:
        print(f"nothing left to do: {told}; give --minutes or --iterations for more: {again}")
    else:
        print(f"done: {told} in {plan.folder}")
    return code


def memory_of(cfg: TrainCfg, device: str, processes: ProcessGroup) -> str:
    """Each GPU has its own, but all processes share that of the machine. Only of robots."""
    if not isinstance(cfg, ParkourCfg):
        return ""
    share = processes.size if device.startswith("cuda") else 1
    return check_memory(cfg.worlds // share, device, world_model=cfg.learning.model is not None)


def say(line: str) -> None:
    """Once, however many processes there are."""
    if not torchrun_group().rank:
        print(line, flush=True)


def remembered(checkpoint: Checkpoint, preset: str | None) -> tuple[str, TrainCfg]:
    """The preset's name and the config that a checkpoint was made with."""
    name = checkpoint.config.get("preset")
    if name is None or "cfg" not in checkpoint.config:
        raise UserError(f"'{checkpoint.path}' was not made by swap train; it cannot be resumed")
    moved = preset is not None and is_code(preset) and is_code(str(name))
    if preset not in (None, name) and not moved:
        raise UserError(f"that run is of preset '{name}', not '{preset}'; leave --preset away")
    spent = checkpoint.numbers.get("run")
    if not isinstance(name, str) or not isinstance(spent, dict) or not known(spent):
        raise UserError(f"'{checkpoint.path}' does not say what was trained, and for how long")
    kind = class_of({**checkpoint.config, "preset": preset or name}) or type(get_preset(name))
    return shown(name), from_json(kind, checkpoint.config["cfg"])


def known(spent: dict[str, Any]) -> bool:
    """How long a run took so far; those of before did not count their steps."""
    return is_nonnegative(spent.get("elapsed_s")) and is_nonnegative(spent.get("steps", 0))


def extended(cfg: TrainCfg, stored: TrainCfg, checkpoint: Checkpoint) -> TrainCfg:
    """Goals are totals: what is given on resuming is added; if nothing is, the old ones stand."""
    goal, had = cfg.run, stored.run
    if goal.minutes is None and goal.iterations is None and goal.steps is None:
        goal = dataclasses.replace(
            goal, minutes=had.minutes, iterations=had.iterations, steps=had.steps
        )
    else:
        spent = checkpoint.numbers["run"]
        goal = dataclasses.replace(
            goal,
            minutes=_more(goal.minutes, spent["elapsed_s"] / 60.0),
            iterations=_more(goal.iterations, checkpoint.iteration),
            steps=_more(goal.steps, spent.get("steps", 0.0)),
        )
    return dataclasses.replace(cfg, run=goal)


def _more(given: N | None, spent: N) -> N | None:
    return None if given is None else spent + given


def check_renamed(options: list[str]) -> None:
    for word in options:
        option = word.partition("=")[0]
        if option.startswith("--") and (today := option_today(option)) != option:
            raise UserError(f"{option} is now {today}")


def split_pairs(options: list[str]) -> list[str]:
    """`--env.rewards.terms headway=1 my.py:calm=0.5`, with every pair as two words."""
    out: list[str] = []
    within = False
    for word in options:
        if word.startswith("--"):
            flag, _, value = word.partition("=")
            within = flag in PAIRS
            if within and value:
                out.append(flag)
                word = value
        name, equals, number = word.rpartition("=")
        out += [name, number] if within and equals else [word]
    return out


def suited(options: list[str]) -> list[str]:
    """`--preset auto` is the preset that suits this machine."""
    if given(options, "--preset") != "auto":
        return options
    import torch

    name = "swap" if torch.cuda.is_available() else "tiny"
    out = list(options)
    for i, word in enumerate(options):  # a device may be auto, too
        if word == "--preset=auto":
            out[i] = f"--preset={name}"
        elif word == "auto" and i and options[i - 1] == "--preset":
            out[i] = name
    return out


def name_resumed(options: list[str]) -> list[str]:
    """A bare `--resume` gets the folder it means: that of --out, or of the newest run."""
    if "--resume" not in options:
        return options
    at = options.index("--resume") + 1
    if at < len(options) and not options[at].startswith("-"):
        return options
    out = given(options, "--out")
    if out is None:
        runs = sorted(HOME.glob(f"*/{FOLDER}/{LATEST}"), key=lambda file: file.stat().st_mtime)
        if not runs:
            raise UserError(f"no run in {HOME} to resume; name its folder: --resume FOLDER")
        out = str(runs[-1].parent.parent)
    return [*options[:at], out, *options[at:]]


def given(options: list[str], flag: str) -> str | None:
    """The value of a flag before the options are parsed."""
    for i, word in enumerate(options):
        if word == flag:
            return options[i + 1] if i + 1 < len(options) else None
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None
