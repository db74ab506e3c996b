"""Submits the runs of a study as jobs to Slurm through submitit (or, for tests, to this machine).

A job that is preempted or runs out of time stops its run, which saves; the job is queued again and
goes on from the checkpoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from swap.errors import UserError
from swap.study.plan import Folder, commands_left, missing_model, remove_stale
from swap.study.pool import Chain, Pool, start_process
from swap.study.study import Run, Study

MISSING = (
    "submitit is not installed; pip install -c constraints.txt '.[slurm]', or use --print and your "
    "scheduler's own command"
)


@dataclass
class RunJob:
    """Does all that is left of one run, on whatever machine it is called."""

    study: Study
    folder: Folder
    run: Run
    device: str
    pool: Pool | None = field(default=None, init=False, repr=False)

    def __call__(self) -> str:
        chain = Chain(commands_left(self.study, self.folder, self.run, self.device))
        if why := missing_model(self.folder, chain.commands):
            raise RuntimeError(why)
        remove_stale(self.study, self.folder, self.run)
        # submitit handles signals itself, and calls `checkpoint`.
        self.pool = Pool(self.folder, [chain], start_process({}), listens=False)
        self.pool.run()
        if chain.failed:
            raise RuntimeError(chain.failed)
        return f"{self.run.name} done"

    def checkpoint(self) -> Any:
        """Called by submitit before the job is queued again."""
        import submitit

        if self.pool is not None:
            self.pool.stop()
        return submitit.helpers.DelayedSubmission(
            RunJob(self.study, self.folder, self.run, self.device)
        )


def submit(
    study: Study, folder: Folder, device: str, options: Sequence[str], runs: Sequence[Run]
) -> list[Any]:
    """Submits a job for each of the runs that is not done; `options` are submitit's, as
    key=value."""
    try:
        import submitit
    except ModuleNotFoundError:
        raise UserError(MISSING) from None
    given = dict(map(_option, options))
    cluster = given.pop("cluster", None)
    if device != "cpu" and cluster != "local":
        given.setdefault("gpus_per_node", 1)
    try:
        executor = submitit.AutoExecutor(folder=folder.root / "slurm", cluster=cluster)
        executor.update_parameters(name=f"swap-{study.name}", **given)
    except (NameError, TypeError, ValueError, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UserError(f"--slurm: {' '.join(lines[:2])}") from None
    todo = [run for run in runs if commands_left(study, folder, run, device)]
    with executor.batch():
        return [executor.submit(RunJob(study, folder, run, device)) for run in todo]


def _option(word: str) -> tuple[str, Any]:
    key, equals, value = word.partition("=")
    if not equals:
        raise UserError(f"--slurm {word}; give submitit's options as key=value, e.g. partition=gpu")
    return key, int(value) if value.isdigit() else value
