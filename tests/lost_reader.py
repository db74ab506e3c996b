"""Stops runs whose output is read, and runs whose reader is gone when the signal comes; every run
is a fork, so that torch is loaded once.

`python lost_reader.py FOLDER TRIES` prints exit codes, what was printed, and the iterations done
and saved, as JSON for tests/cli/test_signals.py.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path

import torch

from swap.cli import main as cli
from swap.cli import train as train_command  # noqa: F401  loaded before the forks
from swap.runs import load, read_metrics
from swap.signals import SIGNALS
from toy_preset import ToyCfg
from toy_run import TOY

TRAIN = ("swap", "train", "--preset", TOY, "--device", "cpu", "--no-tensorboard", "--out")


def opened(file: Path) -> int:
    return os.open(file, os.O_CREAT | os.O_WRONLY)


def stopped(run: Path, sig: int, iterations: int, *, read: bool) -> int:
    """The exit code of a run that is stopped after `iterations`. It prints into RUN.out and
    RUN.err, or loses its reader first."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(opened(run.with_suffix(".out")) if read else writer, 1)
        os.dup2(opened(run.with_suffix(".err")) if read else writer, 2)
        os.close(writer)
        sys.argv = [*TRAIN, str(run)]
        try:
            cli.main()
        except SystemExit as end:  # as Python's own exit, but without ending the parent's threads
            sys.stdout.flush()
            os._exit(int(end.code or 0))
        os._exit(99)
    os.close(writer)
    metrics = run / "metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < iterations:
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the run has ended by itself"
        time.sleep(0.005)
    os.close(reader)
    os.kill(child, sig)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, tries: int) -> None:
    torch.set_num_threads(1)
    ToyCfg().build("cpu").iterate()
    gc.collect()
    read, lost = {}, []
    for sig in SIGNALS:
        run = folder / f"my run {int(sig)}"
        code = stopped(run, sig, 3, read=True)
        shown = (run.with_suffix(suffix).read_text() for suffix in (".out", ".err"))
        read[int(sig)] = (str(run), code, *shown)
    for k in range(tries):
        run, sig = folder / str(k), SIGNALS[k % len(SIGNALS)]
        code = stopped(run, sig, 1 + k, read=False)
        lost.append((int(sig), code, load(run).iteration, len(read_metrics(run))))
    print(json.dumps({"read": read, "lost": lost}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
