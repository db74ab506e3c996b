"""Translates the names in older runs and models to today's.

A checkpoint or card says in `cfg_version` which names it uses; without it, the version is 0. To
rename a config key or a part of a tensor's name, or to change the shape of a config, append a
`Renames` to HISTORY. Older files then still load.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from swap.errors import printable
from swap.presets.kinds import kind_of
from swap.presets.table import TrainCfg
from swap.runs.config import to_json
from swap.runs.distributed_trainable import OTHERS_NUMBERS
from swap.runs.safe_read import DamagedError, is_count

KEY = "cfg_version"
RUN = "run."
"""Options leave out this prefix of a key: `--guard.fault-fraction`."""
CAMERA = (
    "decided by the preset: those with a world model have a camera, set by --env.camera.every, "
    "--env.camera.optics.rows, ..."
)


@dataclass(frozen=True)
class Renames:
    """The changes from one version to the next: old name -> new name."""

    config: Mapping[str, str] = field(default_factory=dict)
    """Keys with all their parents: `env.curriculum.down_share`. A table moves with all it holds."""
    tensors: Mapping[str, str] = field(default_factory=dict)
    """Parts of names, one word or several in a row: `actor.reader` in
    `policy/actor.reader.norm.mean`, and in the optimiser's tensors for it."""
    convert: Callable[[dict[str, Any]], None] | None = None
    """Changes the config in ways that a rename cannot; runs first, in place."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Keys that `convert` removes -> the message for users who still give their option."""
    move: Callable[[dict[str, Any], dict[str, Tensor]], None] | None = None
    """Changes the numbers and tensors of a checkpoint in ways that a rename cannot; runs last, in
    place."""


def camera_has_a_config(cfg: dict[str, Any]) -> None:
    """`env.camera` was a switch, and the world model had its own copy of the camera's settings."""
    env, net = find(cfg, ["env"]) or {}, find(cfg, ["model", "net"]) or {}
    depth = find(net, ["depth"]) or {}
    every, k = env.pop("camera_every", None), net.pop("k", None)
    image, clip = net.get("image"), net.pop("action_clip", None)
    optics: dict[str, Any] = {x: depth.pop(x) for x in ("near_m", "far_m") if x in depth}
    if "bend" in depth:
        net["depth_bend"] = depth.pop("bend")
    if net.get("depth") == {}:
        del net["depth"]
    if None not in (every, k) and every != k:
        raise DamagedError(printable(f"it has images every {every} steps, its model every {k}", 99))
    if None not in (clip, env.get("action_clip")) and clip != env["action_clip"]:
        raise DamagedError(printable(f"it clips actions at {env['action_clip']} and at {clip}", 99))
    if isinstance(image, list) and len(image) == 2:
        optics |= {"rows": image[0], "cols": image[1]}
        del net["image"]  # any other stays and is refused as an unknown key
    if env.get("camera") is True:
        env["camera"] = {"optics": optics} | ({} if every is None else {"every": every})
    elif env.get("camera") is False:
        env["camera"] = None


def mirrored_density_is_gone(cfg: dict[str, Any]) -> None:
    """`symmetry.density` could be `mirrored`, with which training diverged."""
    symmetry = find(cfg, ["symmetry"]) or {}
    if symmetry.pop("density", "sample") != "sample":
        raise DamagedError(
            "it was trained with symmetry.density=mirrored, which diverged, and is gone"
        )


def counts_are_tensors(numbers: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """`latent.count` of the numbers became the tensor `latent/count`, and so on. All processes have
    the same counts, which are stored once."""
    tables = {"latent": "count", "mirrored_latent": "count", "replay": "filled", "env": "count"}
    for table, key in tables.items():
        old = find(numbers, [table.removeprefix("mirrored_")]) or {}
        if is_count(old.get(key)) and any(name.startswith(f"{table}/") for name in tensors):
            tensors[f"{table}/{key}"] = torch.tensor(old[key])
    others = numbers.get(OTHERS_NUMBERS)
    for each in (numbers, *(others if isinstance(others, list) else ())):
        for table in tables.keys() & (each if isinstance(each, dict) else {}):
            del each[table]


HISTORY: tuple[Renames, ...] = (
    Renames(
        config={
            "run.guard.share": "run.guard.fault_fraction",
            "env.ends.episode_s": "env.ends.episode_length_s",
            "env.ends": "env.terminations",
            "env.hardest": "env.max_difficulty",
            "env.start.nearer": "env.start.run_up_skip",
            "env.commands.free_share": "env.commands.free_fraction",
            "env.commands.stand_share": "env.commands.stand_fraction",
            "env.curriculum.first": "env.curriculum.initial_level",
            "env.curriculum.replay_share": "env.curriculum.replay_fraction",
            "env.curriculum.up_share": "env.curriculum.up_probability",
            "env.curriculum.down_share": "env.curriculum.down_probability",
            "ppo.entropy": "ppo.entropy_coef",
            "ppo.kl": "ppo.desired_kl",
            "ppo.grad_norm": "ppo.max_grad_norm",
            "ppo.calm_std": "ppo.final_max_std",
            "ppo.calm": "ppo.std_decay",
            "ppo.calm_steps": "ppo.std_decay_steps",
        },
        tensors={
            "reader.net": "mlp.net",
            "reader.norm": "mlp.norm",
            "norm.first": "norm.coord_mean",
            "norm.second": "norm.coord_var",
            "twin": "mirrored_latent",
            "twin_h": "mirrored_h",
            "twin_z": "mirrored_z",
            "env/tally": "env/episode_metrics",
            "env/memory": "env/frame_builder",
        },
    ),
    Renames(
        convert=camera_has_a_config,
        options={
            "env.camera": CAMERA,
            "env.no_camera": CAMERA,
            "env.camera_every": "--env.camera.every",
            "model.net.k": "--env.camera.every",
            "model.net.image": "--env.camera.optics.rows and --env.camera.optics.cols",
            "model.net.action_clip": "--env.action-clip",
            "model.net.depth.near_m": "--env.camera.optics.near-m",
            "model.net.depth.far_m": "--env.camera.optics.far-m",
            "model.net.depth.bend": "--model.net.depth-bend",
        },
    ),
    Renames(config={"env.rewards.weights": "env.rewards.terms"}),
    Renames(move=counts_are_tensors),
    Renames(config={"run.keep": "run.keep_checkpoints"}),
    Renames(
        convert=mirrored_density_is_gone,
        tensors={"mode_latent": "noiseless_latent"},
        options={"symmetry.density": "gone: training diverged with density mirrored"},
    ),
)
"""The first leads from version 0 to version 1, and so on."""


def as_stored(preset: str, cfg: TrainCfg) -> dict[str, Any]:
    """Returns what checkpoints and cards hold of a config."""
    kind = {"kind": name} if (name := kind_of(cfg)) else {}
    return {KEY: len(HISTORY), "preset": preset, **kind, "cfg": to_json(cfg)}


def upgraded(
    stored: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the contents of a checkpoint or card under today's names; raises DamagedError if it
    is newer than this program."""
    version = stored.get(KEY, 0)
    if not is_count(version):
        raise DamagedError(f"'{KEY}' is no version")
    if version > len(HISTORY):
        raise DamagedError(f"its config is of version {version}; upgrade swap to read it")
    if "cfg" not in stored:  # not from a training
        return dict(stored), dict(tensors)
    cfg = stored["cfg"]
    for renames in HISTORY[version:]:
        if isinstance(cfg, Mapping):
            cfg = copied(cfg)
            if renames.convert is not None:
                renames.convert(cfg)
            cfg = renamed_keys(cfg, renames.config)
        tensors = {renamed(name, renames.tensors): x for name, x in tensors.items()}
    return {**stored, "cfg": cfg, KEY: len(HISTORY)}, dict(tensors)


def upgraded_numbers(
    stored: Mapping[str, Any], numbers: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the numbers of a checkpoint with the config `stored`, and its (already `upgraded`)
    tensors, to which numbers that have become tensors are added."""
    numbers, tensors = copied(numbers), dict(tensors)
    for renames in HISTORY[stored.get(KEY, 0) :]:
        if renames.move is not None and "cfg" in stored:
            renames.move(numbers, tensors)
    return numbers, tensors


def renamed_keys(cfg: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Returns the tables with new keys; a key that is absent is skipped, since its default was
    meant."""
    out = copied(cfg)
    for old, new in names.items():
        *parents, last = old.split(".")
        table = find(out, parents)
        if table is not None and last in table:
            value = table.pop(last)
            *parents, last = new.split(".")
            place = out
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = value
    return out


def copied(table: Mapping[str, Any]) -> dict[str, Any]:
    """Copies a table and all tables inside it, also those in lists."""

    def copy(x: Any) -> Any:
        if isinstance(x, Mapping):
            return copied(x)
        return [copy(y) for y in x] if isinstance(x, list) else x

    return {k: copy(x) for k, x in table.items()}


def find(table: dict[str, Any], parents: list[str]) -> dict[str, Any] | None:
    for parent in parents:
        inner = table.get(parent)
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


def renamed(name: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        name = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, name)
    return name


def option_today(option: str) -> str:
    """`--ppo.calm-std` -> `--ppo.final-max-std`; the same, if it was never renamed."""
    key = option.removeprefix("--").replace("-", "_")
    for renames in HISTORY:
        if key in renames.options:
            return renames.options[key]
    for prefix in ("", RUN):
        new = prefix + key
        for renames in HISTORY:
            for old, today in renames.config.items():
                if new == old or new.startswith(f"{old}."):
                    new = today + new.removeprefix(old)
        if new != prefix + key:
            return "--" + new.removeprefix(RUN).replace("_", "-")
    return option
