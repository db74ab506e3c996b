"""A run's folder or a kept file in, its policy out, ready to act in any environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from swap.env import ParkourEnv
from swap.errors import UserError
from swap.policy import ActorCritic
from swap.runs import ParkourCfg, from_json, load, load_weights, save_weights, to_json
from swap.runs.presets import find
from swap.runs.weights import ENDING

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Trained:
    """What a checkpoint holds: the config it was trained with, and the policy's tensors."""

    name: str
    iteration: int
    cfg: ParkourCfg
    tensors: Tensors

    def policy_for(self, env: ParkourEnv) -> ActorCritic:
        """The policy on the device of `env`, its normalisers included."""
        policy = ActorCritic(self.cfg.policy, env.groups, env.spaces.action.rep)
        policy.load_state_dict(self.tensors)
        return policy.to(env.device).eval().requires_grad_(False)


def trained(path: Path) -> Trained:
    """From the folder of a run, its newest sound checkpoint; or a kept policy's file."""
    if path.suffix == ENDING:
        tensors, card = load_weights(path)
        return _of(path, card, card["iteration"], tensors)
    checkpoint = load(path)
    prefix = "policy/"
    tensors = {
        key.removeprefix(prefix): x
        for key, x in checkpoint.tensors.items()
        if key.startswith(prefix)
    }
    return _of(path, checkpoint.config, checkpoint.iteration, tensors)


def keep(robot: Trained, path: Path, figures: Mapping[str, Any]) -> None:
    """The policy alone as one small file, with a card: config, seed, figures."""
    card = {
        "preset": robot.name,
        "iteration": robot.iteration,
        "cfg": to_json(robot.cfg),
        "figures": dict(figures),
    }
    save_weights(path, robot.tensors, card)


def _of(path: Path, config: Mapping[str, Any], iteration: int, tensors: Tensors) -> Trained:
    preset = config.get("preset")
    kind = type(find(preset)) if preset else None
    if preset is None or kind is None or not issubclass(kind, ParkourCfg):
        raise UserError(f"'{path}' holds no trained robot; name the folder of a swap train run")
    return Trained(preset, iteration, from_json(kind, config["cfg"]), tensors)


def engine_for(device: str) -> str:
    return "gpu" if torch.device(device).type == "cuda" else "cpu"
