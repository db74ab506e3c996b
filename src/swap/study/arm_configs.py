"""Remembers what the options of an arm meant when its first run began, because a preset may change
between two sittings of a study."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from swap.errors import UserError
from swap.files import replace_file
from swap.presets.table import TrainCfg
from swap.runs.checkpoint import FOLDER, numbered
from swap.runs.config import changes
from swap.runs.migrations import as_stored, upgraded
from swap.study.plan import Folder, Kind, commands_left, create_folder
from swap.study.study import Run, Study

Config = dict[str, Any]


def arm_config(preset: str, cfg: TrainCfg) -> Config:
    """What a checkpoint holds of a config, without what differs between the runs of an arm."""
    stored = as_stored(preset, cfg)
    return {**stored, "cfg": {k: x for k, x in stored["cfg"].items() if k not in ("run", "seed")}}


def runs_to_begin(study: Study, folder: Folder, runs: Sequence[Run], device: str) -> list[Run]:
    """Those that are left to be trained from the beginning."""
    return [
        run
        for run in runs
        if any(c.kind is Kind.TRAIN for c in commands_left(study, folder, run, device))
    ]


def check_configs(study: Study, folder: Folder, configs: Mapping[str, Config]) -> None:
    """Raises a UserError if an arm of which runs have begun has another config now."""
    for arm, config in configs.items():
        file = folder.config(arm)
        if not (file.is_file() and has_begun(study, folder, arm)):
            continue
        try:
            before, _ = upgraded(json.loads(file.read_bytes()), {})
            told = changes(before["cfg"], config["cfg"])
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            raise UserError(f"'{file}' cannot be read; remove it") from None
        if told:
            raise UserError(
                f"study '{study.name}': since its first run, the options of {arm} have come to "
                f"mean something else: {'; '.join(told[:3])}{'; ...' * (len(told) > 3)}; go on "
                f"with the version of swap that trained it, or give another --out"
            )


def begin_folder(study: Study, folder: Folder, configs: Mapping[str, Config]) -> None:
    """Creates the folder, and stores the configs of arms of which no run has begun."""
    create_folder(study, folder)
    for arm, config in configs.items():
        file = folder.config(arm)
        if not (file.is_file() and has_begun(study, folder, arm)):
            file.parent.mkdir(exist_ok=True)
            replace_file(file, (json.dumps(config, indent=1) + "\n").encode())


def has_begun(study: Study, folder: Folder, arm: str) -> bool:
    runs = [run for run in study.runs if run.arm == arm]
    return any(folder.metrics(run).exists() or numbered(folder.run(run) / FOLDER) for run in runs)
