"""Configs of a run: how long it takes, what it saves, and when it stops by itself."""

from dataclasses import dataclass, field

from swap.errors import UserError
from swap.validate import check_numbers


@dataclass(frozen=True)
class GuardCfg:
    """How much may go wrong before a run stops."""

    strikes: int = 3
    """Stop after this many bad iterations in a row (a metric is not finite, or nothing was
    learned)."""
    fault_fraction: float = 1e-3
    """Stop if faults (guard/...) exceed this share of the window's control steps; as soon as that
    is certain, perhaps long before the window is full."""
    window: int = 100
    """Iterations over which faults (guard/...) are counted."""
    evidence: int = 5
    """Copies of the state to keep after faults, one for each kind."""

    def __post_init__(self) -> None:
        check_numbers(
            self, "guard.", at_least_1=("strikes", "window"), not_negative=("fault_fraction",)
        )


@dataclass(frozen=True)
class RunCfg:
    """How long a run takes and what it saves; without a goal it runs until Ctrl-C."""

    minutes: float | None = None
    """Wall-clock minutes, including compiling and the last save; with --resume: this many more.
    None: no limit."""
    iterations: int | None = None
    """Iterations; with --resume: this many more."""
    steps: float | None = None
    """Control steps of all worlds together; with --resume: this many more."""
    save_minutes: float = 2.0
    """Minutes between checkpoints."""
    keep_checkpoints: int = 3
    """How many checkpoints to keep; fewer where the disk is full."""
    milestone_minutes: float | None = None
    """Keep one checkpoint permanently every this many minutes."""
    shard_mib: float = 14.0
    """Largest file of a checkpoint, MiB."""
    tensorboard: bool = True
    """Write TensorBoard events beside metrics.jsonl."""
    guard: GuardCfg = field(default_factory=GuardCfg)

    def __post_init__(self) -> None:
        spans = ("minutes", "steps", "save_minutes", "milestone_minutes")
        check_numbers(self, not_negative=spans)
        if self.keep_checkpoints < 1:
            raise UserError(
                f"keep_checkpoints={self.keep_checkpoints} leaves none; use 1 or more, 3 is usual"
            )
        if self.shard_mib <= 0:
            raise UserError(f"shard_mib={self.shard_mib} holds nothing; use 14")
