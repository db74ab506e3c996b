"""Finds the code that a config names, and runs it where the user has named it."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from swap.courses import FAMILIES
from swap.env import OBSERVATIONS, REWARDS
from swap.errors import UserError
from swap.policy import NETWORKS
from swap.presets.kinds import kind_of
from swap.presets.parkour import ParkourCfg
from swap.presets.swap import SwapCfg
from swap.presets.table import PRESETS, TrainCfg
from swap.registry import Registry, Say, is_code
from swap.robots.registry import ROBOTS
from swap.world_model import ENCODERS


class Option(NamedTuple):
    """An option of `swap train` whose value may name code."""

    flag: str
    registry: Registry[Any]
    words: tuple[str, ...]
    value: tuple[Any, ...]

    def typed(self) -> str:
        return shlex.join([self.flag, *map(str, self.value)])


def options_of(cfg: TrainCfg) -> list[Option]:
    """All options of a config that may name code. A robot that is stored as data needs none."""
    if not isinstance(cfg, ParkourCfg):
        return []
    env = cfg.env
    robots = (env.robot,) if env.robot_data is None else ()
    every = [Option("--env.robot", ROBOTS, robots, robots)]
    for flag, registry, pairs in (
        ("--env.families", FAMILIES, env.families),
        ("--env.rewards.terms", REWARDS, env.rewards.terms),
    ):
        words = tuple(word for word, _ in pairs)
        every.append(Option(flag, registry, words, tuple(x for pair in pairs for x in pair)))
    return every + needed_to_act(cfg)


def needed_to_act(cfg: ParkourCfg) -> list[Option]:
    """The options that a trained robot needs to act: sensors and networks."""
    actor, critic, model = (cfg.policy.actor,), (cfg.policy.critic,), cfg.learning.model
    sensors = cfg.env.observations
    every = [
        Option("--env.observations", OBSERVATIONS, sensors, sensors),
        Option("--policy.actor", NETWORKS, actor, actor),
        Option("--policy.critic", NETWORKS, critic, critic),
    ]
    if model is not None:
        encoder = (model.net.encoder,)
        every.append(Option("--model.net.encoder", ENCODERS, encoder, encoder))
    return every


def run_code(options: Sequence[Option], named: Callable[[str], bool], say: Say) -> None:
    """Runs the code of options that the user has `named`; if others name code, raises a UserError
    that says all that is to be typed."""
    unknown = [
        (option, word)
        for option in options
        for word in filter(is_code, option.words)
        if not named(option.flag) and word not in option.registry
    ]
    if unknown:
        typed = dict.fromkeys(option.typed() for option, _ in unknown)
        option, word = unknown[0]
        raise option.registry.not_run(word, " ".join(typed))
    for option in options:
        for word in filter(is_code, option.words):
            if named(option.flag):
                option.registry.from_user(word, say)


def preset_from_user(word: str, say: Say = print) -> TrainCfg:
    """Returns the preset that the user has named on the command line. The code that it names is
    run, too: the preset is itself code of the user or of an installed package, and could have run
    it."""
    cfg = PRESETS.from_user(word, say)
    run_code(options_of(cfg), lambda flag: True, say)
    return cfg


def typed_again(preset: str, cfg: TrainCfg) -> str:
    """The options that name code and must be typed again to resume a run; may be empty."""
    own = is_code(preset) and kind_of(cfg) is None
    typed = [f"--preset {shlex.quote(preset)}"] if own else []
    typed += [option.typed() for option in options_of(cfg) if any(map(is_code, option.words))]
    return "".join(f" {words}" for words in typed)


def with_user_code(
    cfg: ParkourCfg,
    say: Say,
    *,
    actor: str | None = None,
    critic: str | None = None,
    encoder: str | None = None,
    observations: tuple[str, ...] | None = None,
) -> ParkourCfg:
    """Returns the config with the sensors and networks that the user has named on the command line,
    and otherwise the stored ones. Raises a UserError for those that are code and were not named."""
    given = {
        "--policy.actor": actor,
        "--policy.critic": critic,
        "--model.net.encoder": encoder,
        "--env.observations": observations,
    }
    own = cfg.policy
    cfg = replace(cfg, policy=replace(own, actor=actor or own.actor, critic=critic or own.critic))
    cfg = replace(cfg, env=replace(cfg.env, observations=observations or cfg.env.observations))
    if encoder is not None:
        if not isinstance(cfg, SwapCfg):
            raise UserError("this robot has no world model; omit --model.net.encoder")
        net = replace(cfg.model.net, encoder=encoder)
        cfg = replace(cfg, model=replace(cfg.model, net=net))
    run_code(needed_to_act(cfg), lambda flag: given[flag] is not None, say)
    return cfg
