"""Loads the networks of a run folder or a kept file, ready to act in any environment."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from swap.env import REWARDS, ParkourEnv, RewardCfg
from swap.errors import UserError, printable
from swap.learn.amp import build_discriminator
from swap.learn.style_reward import GROUP
from swap.learn.trainer import NETWORKS
from swap.policy import Agent, Discriminator, Networks, build_networks
from swap.presets import ParkourCfg
from swap.presets.table import get_preset
from swap.presets.user_code import with_user_code
from swap.registry import Say
from swap.runs.saved_model import SavedModel, read_model
from swap.runs.stored_robot import with_robot
from swap.state_dict import sub_state

POLICY, MODEL, STYLE = NETWORKS
"""Prefixes of tensor names in a checkpoint: of the policy, the world model, the discriminator."""


@dataclass(frozen=True)
class TrainedRobot(SavedModel):
    """A saved model whose networks can be built and loaded."""

    fast: bool = False
    """Its agents are fast ones, see `Agent`."""

    @property
    def has_world_model(self) -> bool:
        """Whether it has a world model, which sees with a camera."""
        return self.cfg.learning.model is not None

    def networks_for(self, env: ParkourEnv, device: str | torch.device | None = None) -> Networks:
        """Builds policy and world model for the layouts of `env`, on its device if no other is
        named."""
        cfg = self.cfg.learning
        net = None if cfg.model is None else cfg.model.net
        try:
            made = build_networks(cfg.policy, net, env.spec, cfg.seed)
        except (RuntimeError, MemoryError) as error:  # more memory than there is
            raise UserError(
                f"the networks of this config cannot be built: {printable(error, 120)}"
            ) from error
        for part, prefix in zip(made, (POLICY, MODEL), strict=True):
            if part is not None:
                self._fill(part, prefix).to(device or env.device)
            elif sub_state(prefix, self.tensors):
                raise misfit(prefix, "is among the weights, and not in the config")
        return made

    def agent_for(self, env: ParkourEnv, *, blind: bool = False) -> Agent:
        """Returns an agent that acts in all worlds of `env`."""
        return Agent(self.networks_for(env), env.n, env.device, blind=blind, fast=self.fast)

    def discriminator_for(
        self, env: ParkourEnv, device: str | torch.device | None = None
    ) -> Discriminator | None:
        """The discriminator; None if there was none, or if it was not kept."""
        cfg = self.cfg.learning
        if cfg.amp is None or (self.tensors and not sub_state(STYLE, self.tensors)):
            return None
        net = build_discriminator(cfg.amp, env.groups[GROUP].rep, cfg.seed)
        self._fill(net, STYLE).to(device or env.device)
        return net

    def _fill(self, part: torch.nn.Module, prefix: str) -> torch.nn.Module:
        if self.tensors:
            live, saved = part.state_dict(), sub_state(prefix, self.tensors)
            for name in sorted(live.keys() | saved.keys()):
                check_pair(prefix + name, live.get(name), saved.get(name))
            part.load_state_dict(saved)
        return part.eval().requires_grad_(False)


def check_pair(name: str, live: torch.Tensor | None, saved: torch.Tensor | None) -> None:
    """Raises a UserError for a tensor that is not what the config asks for."""
    if live is None:
        raise misfit(name, "is among the weights, and not in the config")
    if saved is None:
        raise misfit(name, "is not among the weights")
    if (live.shape, live.dtype) != (saved.shape, saved.dtype):
        are = [f"{list(x.shape)} of {x.dtype}".replace("torch.", "") for x in (saved, live)]
        raise misfit(name, f"is {are[0]} in the weights, {are[1]} in the config")


def misfit(name: str, how: str) -> UserError:
    return UserError(f"the weights do not fit their config: '{name}' {how}; fetch the model again")


def load_trained(path: Path, **code: Any) -> TrainedRobot:
    """Loads the newest good checkpoint of a run folder, a kept file, or a model by its name. `code`
    names its actor, critic, encoder or observations as the user typed them, if they are code."""
    return _able(read_model(path), print, **code)


def untrained(preset: str) -> TrainedRobot:
    """Returns the robot of a preset before any training."""
    cfg = get_preset(preset)
    if not isinstance(cfg, ParkourCfg):
        raise UserError(f"preset '{preset}' trains no robot; name another, e.g. swap or teacher")
    return _able(SavedModel(preset, 0, cfg, {}), print)


def _able(model: SavedModel, say: Say, **code: Any) -> TrainedRobot:
    cfg = with_user_code(with_robot(model.cfg), say, **code)
    cfg = with_known_rewards(cfg, say)
    return TrainedRobot(model.name, model.iteration, cfg, model.tensors)


def with_known_rewards(cfg: ParkourCfg, say: Say) -> ParkourCfg:
    """Leaves out rewards that are code: a robot does not need them to act."""
    missing = [word for word, _ in cfg.env.rewards.terms if word not in REWARDS]
    if not missing:
        return cfg
    say(f"not run: {printable(', '.join(missing))}, rewards of its training; none is needed here")
    return replace(cfg, env=replace(cfg.env, rewards=RewardCfg()))
