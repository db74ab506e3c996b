"""Starts a new run from what a saved robot has learned.

Networks, and optimisers and curriculum if they were kept, are taken over. Worlds, replay, random
states, the count of iterations and the clock begin anew.
"""

from dataclasses import replace

import torch

from swap.env import ParkourEnv
from swap.env.frontiers import converted, spread
from swap.errors import UserError
from swap.learn import Trainer
from swap.learn.trainable import Trainable
from swap.learn.trainer import NETWORKS, OPTIMISERS
from swap.presets.parkour import ParkourCfg
from swap.presets.table import PRESETS, TrainCfg, get_preset
from swap.runs.noise_and_rate import RATE, carried_over
from swap.runs.saved_model import SavedModel, Tensors

STYLE = "amp/net/"
"""The name of the discriminator in a checkpoint."""


def config_from(model: SavedModel, preset: str | None) -> tuple[str, TrainCfg]:
    """Returns the preset's name and config to begin with: those that the user names, or the model's
    own. The options of the run itself (length, saving) are always the preset's; the robot is the
    model's."""
    if preset is not None:
        cfg, own = get_preset(preset), model.cfg.env
        if isinstance(cfg, ParkourCfg):
            env = replace(cfg.env, robot=own.robot, robot_data=own.robot_data)
            cfg = replace(cfg, env=env)
        return preset, cfg
    run = get_preset(model.name).run if model.name in PRESETS else model.cfg.run
    return model.name, replace(model.cfg, run=run)


def start_from(model: SavedModel, trainable: Trainable, cfg: TrainCfg) -> list[str]:
    """Loads what the model has learned into `trainable`, before its first iteration; returns, in
    words, what begins anew."""
    if not isinstance(trainable, Trainer) or not isinstance(cfg, ParkourCfg):
        raise UserError("this preset trains no robot; --from needs one that does, e.g. tiny")
    live = trainable.learned()
    check_fit({name: x for name, x in live.items() if name.startswith(NETWORKS)}, model)
    tensors = carried_over(model.tensors, model.cfg, cfg)
    if RATE not in tensors and cfg.ppo.desired_kl is not None and cfg.ppo.lr == model.cfg.ppo.lr:
        # A fresh Adam takes steps of full length in all directions: at the usual initial rate the
        # KL of the first update was 39. From a low rate it soon adapts.
        tensors[RATE] = torch.tensor(cfg.ppo.lr_range[0])
    trainable.load_learned(tensors)
    assert isinstance(trainable.env, ParkourEnv)
    missing = set_frontiers(model, trainable.env)
    anew = []
    if has(STYLE, live) and not has(STYLE, tensors):
        anew.append("discriminator")
    if any(has(prefix, live) and not has(prefix, model.tensors) for prefix in OPTIMISERS):
        anew.append("optimisers")
    if missing:
        anew.append("curriculum" if not model.curriculum else f"curriculum of {', '.join(missing)}")
    return anew


def has(prefix: str, tensors: Tensors) -> bool:
    return any(name.startswith(prefix) for name in tensors)


def check_fit(networks: Tensors, model: SavedModel) -> None:
    """Raises a UserError for the first tensor that does not fit. A discriminator may be missing."""
    kept = {name: x for name, x in model.tensors.items() if name.startswith(NETWORKS)}
    for name, x in networks.items():
        if name.startswith(STYLE) and not has(STYLE, kept):
            continue
        if name not in kept:
            raise misfit(name, f"is {list(x.shape)} here, and not in the model")
        if kept[name].shape != x.shape:
            raise misfit(name, f"is {list(x.shape)} here, {list(kept[name].shape)} in the model")
        if kept[name].dtype != x.dtype:
            raise misfit(name, f"is {x.dtype} here, {kept[name].dtype} in the model")
    for name, x in kept.items():
        unused = name.startswith(STYLE) and not has(STYLE, networks)
        if name not in networks and not unused:
            raise misfit(name, f"is {list(x.shape)} in the model, and not here")


def misfit(name: str, how: str) -> UserError:
    return UserError(f"the model does not fit: '{name}' {how}; omit --preset and network options")


def set_frontiers(model: SavedModel, env: ParkourEnv) -> list[str]:
    """Gives the worlds of every family its kept frontiers; returns the families that have none."""
    kept, frontier = model.curriculum, env.curriculum.frontier.cpu()
    family = env.family.cpu()
    missing = []
    for k, (name, _) in enumerate(env.cfg.families):
        mine = family == k
        if name in kept:
            reached = converted(kept[name], name, model.cfg.env, env.cfg)
            frontier[mine] = spread(reached, int(mine.sum()))
        elif mine.any():
            missing.append(name)
    env.curriculum.begin(frontier)
    return missing
