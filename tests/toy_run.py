"""A toy run in one call, which keeps what it printed."""

from pathlib import Path

from swap.presets import RunCfg
from swap.runs import Checkpoint, RunResult, seed_everything, train
from swap.runs.console import PlainBoard
from toy_preset import ToyCfg

TOY = f"{Path(__file__).with_name('toy_preset.py')}:TOY"
"""What `swap train --preset` is given."""


class Silent(PlainBoard):
    """Keeps what a run prints."""

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
