"""A config in; what it names that is code out, and run where the user has named it."""

import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

from swap.courses import FAMILIES
from swap.env import REWARDS
from swap.presets.kinds import kind_of
from swap.presets.parkour import ParkourCfg
from swap.presets.table import PRESETS, TrainCfg
from swap.registry import Registry, Say, is_code
from swap.robots.registry import ROBOTS


class Option(NamedTuple):
    """An option of `swap train` whose value may name code."""

    flag: str
    registry: Registry[Any]
    words: tuple[str, ...]
    value: tuple[Any, ...]

    def typed(self) -> str:
        return shlex.join([self.flag, *map(str, self.value)])


def options_of(cfg: TrainCfg) -> list[Option]:
    """Those whose value does name code. A robot that is there as data needs none."""
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
    return [option for option in every if any(map(is_code, option.words))]


def run_code(cfg: TrainCfg, named: Callable[[str], bool], say: Say) -> None:
    """Run what the options name that the user has `named`, and refuse in one line what is left."""
    for option in options_of(cfg):
        for word in option.words:
            if named(option.flag):
                option.registry.from_user(word, say)
            elif word not in option.registry:
                raise option.registry.not_run(word, option.typed())


def preset_from_user(word: str, say: Say = print) -> TrainCfg:
    """The preset that the user has named in this very call. All that it names is run, too: it is
    code of the user's or of an installed package, and could have done so itself."""
    cfg = PRESETS.from_user(word, say)
    run_code(cfg, lambda flag: True, say)
    return cfg


def typed_again(preset: str, cfg: TrainCfg) -> str:
    """The options that name code, which must be typed again to go on with a run; or nothing."""
    own = is_code(preset) and kind_of(cfg) is None
    words = [f"--preset {shlex.quote(preset)}"] if own else []
    return "".join(f" {typed}" for typed in (*words, *(x.typed() for x in options_of(cfg))))
