"""Presets: a name in, a whole config out, from which `swap train` builds what it trains."""

from dataclasses import dataclass, field
from typing import Annotated

import tyro

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError, unknown
from swap.learn.trainable import Trainable
from swap.presets.run_cfg import RunCfg
from swap.validate import check_numbers


@dataclass(frozen=True)
class TrainCfg:
    """What every preset has; each kind of training adds nested configs and builds from them."""

    run: Annotated[RunCfg, tyro.conf.arg(name="")] = field(default_factory=RunCfg)
    seed: int = 0
    """Of everything random."""

    def __post_init__(self) -> None:
        check_numbers(self)

    def build(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> Trainable:
        """Called after the seeds are set; allocates and may compile."""
        raise NotImplementedError

    def check_memory(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> str:
        """About how much it takes, in a line that is told, if it is worth one; UserError if that is
        more than there is."""
        return ""


PRESETS: dict[str, TrainCfg] = {}
"""Name -> config. Names that begin with an underscore are for tests and are not listed."""


def register(name: str, cfg: TrainCfg) -> None:
    if name in PRESETS:
        raise UserError(f"preset '{name}' is registered twice; rename one")
    PRESETS[name] = cfg


def get_preset(name: str) -> TrainCfg:
    if name not in PRESETS:
        raise unknown("preset", name, listed())
    return PRESETS[name]


def listed() -> list[str]:
    return [name for name in PRESETS if not name.startswith("_")]
