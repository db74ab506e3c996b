"""Writes the metrics of a run: one line of `metrics.jsonl` each iteration, and TensorBoard events.

A resumed run continues the same file: lines after the checkpoint belong to lost work and are
dropped, so that every iteration appears once.
"""

import contextlib
import json
import math
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from swap.errors import UserError
from swap.files import open_untrusted, replace_file
from swap.runs.checkpoint import Say
from swap.runs.safe_read import DamagedError, is_count, read_file

FILE, BOARD = "metrics.jsonl", "tensorboard"


class Metrics:
    """The two files of one run, open while it runs. A full disk loses lines but does not end the
    run."""

    def __init__(
        self, run: Path, after: int = 0, say: Say = print, *, tensorboard: bool = True
    ) -> None:
        self.say, self.complained = say, False
        path = run / FILE
        try:
            if os.path.lexists(path):
                rewind(path, after)
            self.file: IO[str] = open(path, "a", opener=open_untrusted)  # noqa: SIM115
        except (DamagedError, OSError) as error:
            raise UserError(f"cannot write metrics into '{run}': {error}") from None
        self.board: Any = None
        self.hook = threading.excepthook
        if tensorboard:
            # The writer's thread passes an error to the next write, where it is reported in a line;
            # the traceback that Python would also print adds nothing.
            threading.excepthook = self._heard
            from torch.utils.tensorboard import SummaryWriter

            # purge_step hides the events of lost work, as `rewind` does in the other file.
            try:
                self.board = SummaryWriter(str(run / BOARD), purge_step=after + 1, flush_secs=20)
            except UnicodeError:
                self.say(
                    "no TensorBoard events: it reads only names in UTF-8, and the run's is not"
                )

    def write(self, iteration: int, wall_s: float, metrics: Mapping[str, float]) -> None:
        """Writes one line, which has left our buffers when this returns."""
        line = {"iteration": iteration, "wall_s": round(wall_s, 3)}
        # null for what is not finite: strict JSON has no NaN. The guard keeps the evidence.
        values = {k: float(v) if math.isfinite(v) else None for k, v in metrics.items()}
        with self._complaining():
            self.file.write(json.dumps(line | values) + "\n")
            self.file.flush()
        if self.board is not None:
            with self._complaining():
                for name, value in metrics.items():
                    self.board.add_scalar(name, value, iteration)

    def sync(self) -> None:
        """Flushes to the disk, before a checkpoint that relies on these lines."""
        with self._complaining():
            self.file.flush()
            os.fsync(self.file.fileno())

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._complaining():
            self.file.close()
        if self.board is not None:
            with self._complaining():
                self.board.close()
        threading.excepthook = self.hook

    def _heard(self, args: threading.ExceptHookArgs) -> None:
        if not isinstance(args.exc_value, OSError):
            self.hook(args)

    @contextlib.contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self.complained:
                self.say(f"metrics are NOT written ({error.strerror or error}); the run goes on")
            self.complained = True


def rewind(path: Path, after: int) -> None:
    """Keeps the lines of iterations 1 to `after`, each once, and drops incomplete ones."""
    kept: dict[int, bytes] = {}
    for line, row in _rows(read_file(path, most=1 << 40)):
        if line.endswith(b"\n") and row["iteration"] <= after:
            kept[row["iteration"]] = line
    replace_file(path, b"".join(kept.values()))


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """Reads every complete line of a run's metrics, from its folder or from a copy of the file."""
    return [row for _, row in _rows((run / FILE if run.is_dir() else run).read_bytes())]


def _rows(data: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Lines and their contents, without those that a crash cut short or the disk damaged."""
    for line in data.splitlines(keepends=True):
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict) and is_count(row.get("iteration")):
                yield line, row
