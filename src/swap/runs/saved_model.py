"""Reads config and learned tensors from a run folder or a kept file, and writes such a file.

A kept file names its tensors as a checkpoint does: networks, and optimisers on request. It holds
the curriculum as `curriculum/FAMILY`: the frontiers of all worlds of that family, sorted.
"""

import contextlib
import os
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from swap.courses import FAMILIES
from swap.env.frontiers import by_family
from swap.errors import UserError
from swap.learn.trainer import NETWORKS, OPTIMISERS
from swap.presets.kinds import class_of, shown
from swap.presets.parkour import ParkourCfg
from swap.runs.checkpoint import FOLDER, Checkpoint, Say, is_checkpoint, load
from swap.runs.config import from_json, to_json
from swap.runs.distributed_trainable import OTHERS, OTHERS_NUMBERS
from swap.runs.migrations import as_stored, upgraded
from swap.runs.safe_read import DamagedError, check_finite, is_count
from swap.runs.stored_robot import with_robot
from swap.runs.weights import ENDING, load_weights, save_weights
from swap.state_dict import sub_state

Tensors = dict[str, Tensor]
CURRICULUM = "curriculum/"
FRONTIER = "env/curriculum/frontier"
"""Name in a checkpoint: the frontiers of the worlds of one process."""


@dataclass(frozen=True)
class SavedModel:
    """A trained robot as saved by a run: its preset, the config it was trained with, what it
    learned."""

    name: str
    iteration: int
    cfg: ParkourCfg
    tensors: Tensors
    """Tensors by their names in a checkpoint, and the curriculum; empty for an untrained robot."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What was measured, if the card of the file holds it."""
    average_of: tuple[str, ...] = ()
    """Where the weights came from whose mean these are; see `swap.runs.average`."""

    @property
    def curriculum(self) -> Tensors:
        """Frontiers by family; empty if they were not kept."""
        return sub_state(CURRICULUM, self.tensors)


def model_folders() -> tuple[Path, ...]:
    """Folders in which models are found by name: here, in the source tree, and where a wheel puts
    them."""
    installed = Path(sysconfig.get_path("data")) / "share" / "swap" / "models"
    return Path("models"), Path(__file__).parents[3] / "models", installed


def find_model(path: Path) -> Path:
    """Returns the path if it is a run or a kept file; a bare name that does not exist here is
    looked up among the kept models. Otherwise raises a UserError that suggests what may have been
    meant."""
    if holds_run(path) or (path.is_file() and path.suffix == ENDING):
        return path
    if len(path.parts) == 1:
        name = f"{path.name.removesuffix(ENDING)}{ENDING}"
        for folder in model_folders():
            if (folder / name).is_file():
                return folder / name
    if path.suffix == ENDING and os.path.lexists(path) and not path.is_dir():
        return path  # a pipe or a broken link: reading it will give the error
    if path.is_file():
        wrong = f"'{path}' is no model; a file of swap keep ends in {ENDING}"
    elif path.is_dir() and path.suffix == ENDING:
        wrong = f"{path.name} is a folder, not a plain file, and holds no run"
    elif path.is_dir():
        wrong = f"no checkpoint in '{path}'; name the folder of a run"
    else:
        known = ", ".join(known_models()) or "none"
        wrong = f"no run or model '{path}'; name a run's folder, a file of swap keep, or a known "
        wrong += f"model: {known}"
    meant = nearby(path)
    raise UserError(f"{wrong}; did you mean {' or '.join(map(str, meant))}?" if meant else wrong)


def find_run(path: Path) -> Path:
    """Returns the path if it is a run; otherwise raises a UserError that suggests what may have
    been meant."""
    if holds_run(path):
        return path
    wrong = f"no checkpoint in '{path}'; name the folder of a run"
    if runs := [place for place in nearby(path) if holds_run(place)]:
        raise UserError(f"{wrong}; did you mean {' or '.join(map(str, runs))}?")
    with contextlib.suppress(UserError):
        find_model(path)
        wrong += f"; '{path}' is a model: a new run can begin with it, swap train --from {path}"
    raise UserError(wrong)


def holds_run(path: Path) -> bool:
    return (path / FOLDER).is_dir() or is_checkpoint(path)


def known_models() -> list[str]:
    return sorted({file.stem for folder in model_folders() for file in folder.glob(f"*{ENDING}")})


def nearby(path: Path) -> list[Path]:
    """Models and runs that a wrong path may have meant: of the same name, inside it, around it, or
    of a similar name."""
    named = [path.parent / f"{name}{ENDING}" for name in (path.stem, path.name)]
    if named := [file for file in dict.fromkeys(named) if file.is_file() and file != path]:
        return named[:1]
    if path.parent.joinpath(FOLDER).is_dir():  # a file in a run, or its folder of checkpoints
        return [path.parent]
    within = path if path.is_dir() else path.parent
    there = {file.name: file for file in sorted(within.glob(f"*{ENDING}")) if file.is_file()}
    there |= {file.parent.name: file.parent for file in sorted(within.glob(f"*/{FOLDER}"))}
    if path.is_dir():
        return list(there.values())[:3]
    names = get_close_matches(path.name, [*there, *known_models()], n=2, cutoff=0.7)
    return [there.get(name, Path(name)) for name in names]


def read_model(path: Path, say: Say = print) -> SavedModel:
    """Loads the newest good checkpoint of a run folder, a kept file, or a model by its name."""
    path = find_model(path)
    if not holds_run(path):
        tensors, card = load_weights(path)
        try:
            card, tensors = upgraded(card, tensors)
        except DamagedError as fault:
            raise UserError(f"'{path}' is refused: {fault}") from None
        model = model_of(path, card, card.get("iteration"), tensors)
        check(model, path)
        return model
    checkpoint = load(path, say)
    ours = NETWORKS + OPTIMISERS
    tensors = {key: x for key, x in checkpoint.tensors.items() if key.startswith(ours)}
    model = model_of(path, checkpoint.config, checkpoint.iteration, tensors)
    tensors |= frontiers(checkpoint, model.cfg)
    check(model, path)
    return model


def model_of(path: Path, config: Mapping[str, Any], iteration: Any, tensors: Tensors) -> SavedModel:
    """`config` is what `swap train` writes into checkpoints, and `keep` into cards."""
    preset, kind = config.get("preset"), class_of(config)
    if kind is None:
        raise UserError(
            f"'{path}' has a config of a class of its own, by the preset '{shown(str(preset))}', "
            f"which is not run; only swap train --resume takes it, with that --preset"
        )
    if not isinstance(preset, str) or not issubclass(kind, ParkourCfg) or not is_count(iteration):
        raise UserError(f"'{path}' holds no trained robot; name the folder of a swap train run")
    figures, parts = config.get("figures"), config.get("average_of")
    return SavedModel(
        shown(preset),
        iteration,
        from_json(kind, config.get("cfg")),
        tensors,
        figures if isinstance(figures, dict) else {},
        tuple(map(shown, map(str, parts))) if isinstance(parts, list) else (),
    )


def check(model: SavedModel, path: Path) -> None:
    """Checks what can be checked of the tensors before any network is built."""
    ours = (*NETWORKS, *OPTIMISERS, CURRICULUM)
    if not any(name.startswith(NETWORKS) for name in model.tensors):
        raise UserError(f"'{path}' is refused: it holds no networks; name a trained robot")
    for name in model.tensors:
        if not name.startswith(ours):
            raise UserError(f"'{path}' is refused: it holds '{name}', which is of no network")
    try:
        check_finite(model.tensors, ours)
    except DamagedError as fault:
        raise UserError(f"'{path}' is refused: {fault}") from None
    numbers = sum(x.numel() for x in model.tensors.values())
    if (width := max(widths(model.cfg), default=0)) > numbers:
        raise UserError(
            f"'{path}' is refused: a layer {width} wide is not in a file of {numbers} numbers"
        )
    trained_on = {name for name, _ in model.cfg.env.families}
    for family, x in model.curriculum.items():
        fine = (
            (family in trained_on or family in FAMILIES)
            and x.dtype == torch.int16
            and x.dim() == 1
            and len(x)
        )
        if not fine or x.min() < 0 or x.max() > model.cfg.env.levels:
            raise UserError(f"'{path}' is refused: '{CURRICULUM}{family}' is no curriculum")


def widths(cfg: ParkourCfg) -> list[int]:
    """All layer and image sizes in the config."""
    learning = cfg.learning
    net = learning.model and learning.model.net
    hidden = learning.amp and learning.amp.hidden
    found: list[int] = []
    left = [to_json([learning.policy, net, hidden, net and cfg.env.camera])]
    while left:
        item = left.pop()
        if isinstance(item, dict | list):
            left += item.values() if isinstance(item, dict) else item
        elif type(item) is int:
            found.append(item)
    return found


def frontiers(checkpoint: Checkpoint, cfg: ParkourCfg) -> Tensors:
    """The frontiers of the worlds of all processes, by family."""
    mine, others_numbers = (
        checkpoint.tensors.get(FRONTIER),
        checkpoint.numbers.get(OTHERS_NUMBERS, []),
    )
    if mine is None or mine.dim() != 1 or not isinstance(others_numbers, list):
        raise UserError(f"checkpoint {checkpoint.path.name} holds no curriculum of a robot")
    others = range(1, 1 + len(others_numbers))
    every = [mine, *(checkpoint.tensors.get(f"{OTHERS}{k}/{FRONTIER}", mine) for k in others)]
    parts = [by_family(frontier, cfg.env) for frontier in every]
    return {
        CURRICULUM + name: torch.cat([part[name] for part in parts]).sort().values.to(torch.int16)
        for name in parts[0]
    }


def keep_model(
    model: SavedModel, path: Path, figures: Mapping[str, Any], *, optimiser: bool = False
) -> None:
    """Writes networks and curriculum into one file, with a card: config, seed, figures. `optimiser`
    adds the optimisers, for a run that will go on elsewhere."""
    if not isinstance(figures, Mapping):
        raise UserError("the figures are no table of names; name a file of swap eval --json")
    if optimiser and not any(name.startswith(OPTIMISERS) for name in model.tensors):
        raise UserError("there are no optimisers in that file; keep them from the run's folder")
    card = {
        **as_stored(model.name, with_robot(model.cfg)),
        "iteration": model.iteration,
        "figures": dict(figures),
        **({"average_of": list(model.average_of)} if model.average_of else {}),
    }
    ours = (*NETWORKS, CURRICULUM, *(OPTIMISERS if optimiser else ()))
    save_weights(path, {k: x for k, x in model.tensors.items() if k.startswith(ours)}, card)
