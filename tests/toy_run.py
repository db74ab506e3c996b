"""Runs a toy training in one call, and remembers what it printed."""

from dataclasses import replace
from pathlib import Path

from swap.presets import RunCfg
from swap.runs import Checkpoint, RunResult, seed_everything, train
from swap.runs.console import PlainBoard
from toy_preset import ToyCfg

TOY = f"{Path(__file__).with_name('toy_preset.py')}:TOY"
"""The value for `swap train --preset`."""
QUICK = RunCfg(tensorboard=False, save_minutes=60.0)


def goal(iterations: int) -> RunCfg:
    return replace(QUICK, iterations=iterations)


class Silent(PlainBoard):
    """Remembers what a run prints."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def toy_run(
    folder: Path,
    run: RunCfg,
    cfg: ToyCfg | None = None,
    resume: Checkpoint | None = None,
    board: Silent | None = None,
) -> RunResult:
    cfg = cfg or ToyCfg()
    seed_everything(cfg.seed)
    return train(cfg.build("cpu"), folder, run, resume=resume, board=board or Silent())
