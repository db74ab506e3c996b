"""A run's folder or a kept file in, its networks out, ready to act in any environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from swap.env import ParkourEnv
from swap.errors import UserError
from swap.kept import under
from swap.learn.amp import discriminator
from swap.learn.style import GROUP, frame_of
from swap.policy import Discriminator, Driver, Networks, networks
from swap.runs import ParkourCfg, from_json, load, load_weights, save_weights, to_json
from swap.runs.presets import find
from swap.runs.weights import ENDING

Tensors = dict[str, Tensor]
POLICY, MODEL, STYLE = "policy/", "model/", "amp/net/"
"""How the names of tensors begin in a checkpoint: of the policy, world model, discriminator."""
KEPT = (POLICY, MODEL)
"""What it takes to act, and to see what the robot imagines; a kept file holds these."""


@dataclass(frozen=True)
class Trained:
    """What a checkpoint holds: the config it was trained with, and the networks' tensors."""

    name: str
    iteration: int
    cfg: ParkourCfg
    tensors: Tensors
    """As a checkpoint names them; none for the first weights of the config."""

    @property
    def sees(self) -> bool:
        """It has a world model, which sees by a camera."""
        return self.cfg.learning.model is not None

    def networks_for(self, env: ParkourEnv, device: str | torch.device | None = None) -> Networks:
        """Policy and world model for the layouts of `env`, on its device if no other is named."""
        cfg = self.cfg.learning
        net = None if cfg.model is None else cfg.model.net
        made = networks(cfg.policy, net, env.groups, env.spaces.action, cfg.seed)
        for part, prefix in zip(made, KEPT, strict=True):
            if part is not None:
                self._fill(part, prefix).to(device or env.device)
        return made

    def driver_for(self, env: ParkourEnv, *, blind: bool = False) -> Driver:
        """Drives all worlds of `env`."""
        return Driver(self.networks_for(env), env.n, env.device, blind=blind)

    def discriminator_for(
        self, env: ParkourEnv, device: str | torch.device | None = None
    ) -> Discriminator | None:
        """The judge of style; None if there was none, or if it was not kept."""
        cfg = self.cfg.learning
        if cfg.amp is None or (self.tensors and not under(STYLE, self.tensors)):
            return None
        net = discriminator(cfg.amp, frame_of(env.groups[GROUP]).rep, cfg.seed)
        self._fill(net, STYLE).to(device or env.device)
        return net

    def _fill(self, part: torch.nn.Module, prefix: str) -> torch.nn.Module:
        if self.tensors:
            part.load_state_dict(under(prefix, self.tensors))
        return part.eval().requires_grad_(False)


def trained(path: Path) -> Trained:
    """From the folder of a run, its newest sound checkpoint; or a kept file."""
    if path.suffix == ENDING:
        tensors, card = load_weights(path)
        return _of(path, card, card["iteration"], tensors)
    checkpoint = load(path)
    ours = (*KEPT, STYLE)
    tensors = {key: x for key, x in checkpoint.tensors.items() if key.startswith(ours)}
    return _of(path, checkpoint.config, checkpoint.iteration, tensors)


def untrained(preset: str) -> Trained:
    """The preset as it begins."""
    return _of(Path(preset), {"preset": preset, "cfg": to_json(find(preset))}, 0, {})


def keep(robot: Trained, path: Path, figures: Mapping[str, Any]) -> None:
    """Policy and world model alone as one file, with a card: config, seed, figures."""
    card = {
        "preset": robot.name,
        "iteration": robot.iteration,
        "cfg": to_json(robot.cfg),
        "figures": dict(figures),
    }
    save_weights(path, {k: x for k, x in robot.tensors.items() if k.startswith(KEPT)}, card)


def _of(path: Path, config: Mapping[str, Any], iteration: int, tensors: Tensors) -> Trained:
    preset = config.get("preset")
    kind = type(find(preset)) if preset else None
    if preset is None or kind is None or not issubclass(kind, ParkourCfg):
        raise UserError(f"'{path}' holds no trained robot; name the folder of a swap train run")
    return Trained(preset, iteration, from_json(kind, config["cfg"]), tensors)


def engine_for(device: str) -> str:
    return "gpu" if torch.device(device).type == "cuda" else "cpu"
