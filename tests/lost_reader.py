"""Runs whose reader is gone when the signal comes: torch is loaded once, every run is a fork.

`python lost_reader.py FOLDER TRIES` prints exit codes, and what was saved, as JSON;
tests/cli/test_signals.py checks them.
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


def stopped(run: Path, sig: int, iterations: int) -> int:
    """The exit code of a run that loses its reader after so many iterations, and is stopped."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(writer)
        sys.argv = [*TRAIN, str(run)]
        try:
            cli.main()
        except (
            SystemExit
        ) as end:  # what Python does at its end, but for ending the parent's threads
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
    out = []
    for k in range(tries):
        run, sig = folder / str(k), SIGNALS[k % len(SIGNALS)]
        code = stopped(run, sig, 1 + k)
        out.append((int(sig), code, load(run).iteration, len(read_metrics(run))))
    print(json.dumps(out))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
