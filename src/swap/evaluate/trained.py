"""A run's folder in, its policy out, ready to act in any environment of that robot."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from swap.env import ParkourEnv
from swap.errors import UserError
from swap.policy import ActorCritic
from swap.runs import ParkourCfg, from_json, load
from swap.runs.presets import find


@dataclass(frozen=True)
class Trained:
    """What a checkpoint holds: the config it was trained with, and the policy's tensors."""

    name: str
    iteration: int
    cfg: ParkourCfg
    tensors: dict[str, Tensor]

    def policy_for(self, env: ParkourEnv) -> ActorCritic:
        """The policy on the device of `env`, its normalisers included."""
        policy = ActorCritic(self.cfg.policy, env.groups, env.spaces.action.rep)
        policy.load_state_dict(self.tensors)
        return policy.to(env.device).eval().requires_grad_(False)


def trained(folder: Path) -> Trained:
    """The newest sound checkpoint of a run of `swap train`."""
    checkpoint = load(folder)
    preset = checkpoint.config.get("preset")
    kind = type(find(preset)) if preset else None
    if preset is None or kind is None or not issubclass(kind, ParkourCfg):
        raise UserError(f"'{folder}' holds no trained robot; name the folder of a swap train run")
    cfg = from_json(kind, checkpoint.config["cfg"])
    prefix = "policy/"
    tensors = {
        key.removeprefix(prefix): x
        for key, x in checkpoint.tensors.items()
        if key.startswith(prefix)
    }
    return Trained(preset, checkpoint.iteration, cfg, tensors)


def engine_for(device: str) -> str:
    return "gpu" if torch.device(device).type == "cuda" else "cpu"
