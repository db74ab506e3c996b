"""Decides with which config, and how long, a resumed run goes on."""

import dataclasses
from pathlib import Path
from typing import Any, TypeVar

from swap.errors import UserError, printable
from swap.presets import TrainCfg, get_preset
from swap.presets.kinds import class_of, shown
from swap.registry import is_code
from swap.runs.checkpoint import FOLDER, LATEST, Checkpoint
from swap.runs.checkpoint_saver import RUN
from swap.runs.config import changes, from_json, to_json
from swap.runs.safe_read import is_nonnegative

N = TypeVar("N", int, float)

UNLISTED = ("run.minutes ", "run.iterations ", "run.steps ", "env.robot_data")
"""Changes that are not listed here: goals are added up, and changes of the robot are listed
elsewhere."""


def newest_run(home: Path) -> Path:
    """The folder of the run in `home` that was saved last."""
    runs = sorted(home.glob(f"*/{FOLDER}/{LATEST}"), key=lambda file: file.stat().st_mtime)
    if not runs:
        raise UserError(f"no run in {home} to resume; name its folder: --resume FOLDER")
    return runs[-1].parent.parent


def stored_config(checkpoint: Checkpoint, preset: str | None) -> tuple[str, TrainCfg]:
    """Returns the preset's name and the config of a checkpoint; `preset` is the name that the user
    gave, if any."""
    name = checkpoint.config.get("preset")
    if name is None or "cfg" not in checkpoint.config:
        raise UserError(f"'{checkpoint.path}' was not made by swap train; it cannot be resumed")
    moved = preset is not None and is_code(preset) and is_code(str(name))
    if preset not in (None, name) and not moved:
        raise UserError(f"that run is of preset '{name}', not '{preset}'; omit --preset")
    spent = checkpoint.numbers.get(RUN)
    if not isinstance(name, str) or not isinstance(spent, dict) or not _is_known(spent):
        raise UserError(f"'{checkpoint.path}' does not say what was trained, and for how long")
    kind = class_of({**checkpoint.config, "preset": preset or name}) or type(get_preset(name))
    return shown(name), from_json(kind, checkpoint.config["cfg"])


def without_goals(cfg: TrainCfg) -> TrainCfg:
    """The same config without an end."""
    run = dataclasses.replace(cfg.run, minutes=None, iterations=None, steps=None)
    return dataclasses.replace(cfg, run=run)


def with_goals(cfg: TrainCfg, stored: TrainCfg, checkpoint: Checkpoint) -> TrainCfg:
    """Returns the config with goals as totals over all sittings of a run: what `cfg` asks for is
    added to what is spent; if it asks for nothing, the stored goals stay."""
    goal, had, spent = cfg.run, stored.run, checkpoint.numbers[RUN]
    if goal.minutes is None and goal.iterations is None and goal.steps is None:
        goal = dataclasses.replace(
            goal, minutes=had.minutes, iterations=had.iterations, steps=had.steps
        )
    else:
        goal = dataclasses.replace(
            goal,
            minutes=_more(goal.minutes, spent["elapsed_s"] / 60.0),
            iterations=_more(goal.iterations, checkpoint.iteration),
            steps=_more(goal.steps, spent.get("steps", 0.0)),
        )
    return dataclasses.replace(cfg, run=goal)


def changed(old: TrainCfg, new: TrainCfg) -> list[str]:
    """The differences that are shown to the user, line by line."""
    lines = changes(to_json(old), to_json(new))
    return [f"changed: {printable(line)}" for line in lines if not line.startswith(UNLISTED)]


def _is_known(spent: dict[str, Any]) -> bool:
    """Whether it is known how long a run took so far; older runs did not count their steps."""
    return is_nonnegative(spent.get("elapsed_s")) and is_nonnegative(spent.get("steps", 0))


def _more(given: N | None, spent: N) -> N | None:
    return None if given is None else spent + given
