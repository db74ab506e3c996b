"""Holds the table of presets. A preset is a name for a whole config, from which `swap train` builds
what it trains.

To make your own preset, put a config in a file or package and name it by an import string: see
docs/extend.md.
"""

from dataclasses import dataclass, field
from typing import Annotated

import tyro

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.learn.trainable import Trainable
from swap.presets.run_cfg import RunCfg
from swap.registry import Registry, instance_of
from swap.validate import check_numbers


@dataclass(frozen=True)
class TrainCfg:
    """What every preset has; each kind of training adds nested configs and builds from them."""

    run: Annotated[RunCfg, tyro.conf.arg(name="")] = field(default_factory=RunCfg)
    seed: int = 0
    """Seed of everything random."""

    def __post_init__(self) -> None:
        check_numbers(self)

    def build(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> Trainable:
        """Builds what is trained. It is called after the seeds are set; it allocates memory and may
        compile."""
        raise NotImplementedError

    def check_memory(self, device: str, processes: ProcessGroup = SINGLE_PROCESS) -> str:
        """Returns a line that says about how much memory it takes, or nothing if that is little;
        raises UserError if it is more than there is."""
        return ""


PRESETS: Registry[TrainCfg] = Registry(
    "preset", "swap.presets", instance_of(TrainCfg, "swap.presets.TrainCfg"), how="--preset {}"
)
"""Name -> config."""


def register(name: str, cfg: TrainCfg) -> None:
    """Registers a preset from Python; a command takes an import string or the name of an entry
    point."""
    PRESETS.add(name, cfg)


def get_preset(name: str) -> TrainCfg:
    return PRESETS[name]
