"""`torchrun -m swap train` from a user's point of view: two processes on the CPU, one run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from swap.cli import main as cli
from swap.distributed import local_device
from swap.errors import UserError
from swap.runs import load, read_metrics

SMALL = (
    *("train", "--preset", "tiny", "--device", "cpu", "--no-tensorboard", "--worlds", "8"),
    *("--ppo.steps", "8", "--ppo.epochs", "2", "--ppo.minibatches", "2"),
    *("--env.levels", "2", "--env.variants", "1"),
)


START = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
SCRIPT = str(Path(__file__).parents[1] / "commands_in_turn.py")


def wait_for(run: Path, iterations: int) -> None:
    for _ in range(1200):
        file = run / "metrics.jsonl"
        if file.exists() and file.read_bytes().count(b"\n") >= iterations:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get on")


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A run of one process, of four iterations."""
    run = tmp_path_factory.mktemp("runs") / "one"
    assert cli.dispatch([*SMALL, "--iterations", "4", "--out", str(run)]) == 0
    return run


@pytest.fixture(scope="module")
def said(one):
    """What torchrun printed: two processes train `whole` to its end, then `stopped`, which begins
    from the run of one process, until torchrun gets a signal."""
    whole, stopped, log = (one.with_name(name) for name in ("whole", "stopped", "log"))
    start = ("train", "--from", one, "--device", "cpu", "--no-tensorboard")
    lines = (
        (*SMALL, "--iterations", 3, "--out", whole),
        (*start, "--iterations", 100000, "--out", stopped),
    )
    words = json.dumps([[str(word) for word in line] for line in lines])
    with log.open("w") as file:
        team = subprocess.Popen(
            [*START, SCRIPT, words],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=file,
            stderr=file,
        )
        wait_for(stopped, 3)
        team.send_signal(signal.SIGTERM)
        assert team.wait(timeout=60) != 0
    return log.read_text()


def test_a_run_of_two_processes(one, said, capsys):
    run = one.with_name("whole")
    lines = said.splitlines()
    begin = lines.index(f"tiny on cpu and 1 more: seed 0, into {run}")
    end = next(
        k for k, line in enumerate(lines) if line.startswith("done: 3 iterations, 192 steps")
    )
    told = lines[begin : end + 1]
    assert len(set(told)) == len(told) >= 2  # only one process prints
    rows = read_metrics(run)
    assert [row["steps"] for row in rows] == [64, 128, 192]
    assert [row["guard/apart"] for row in rows] == [0, 0, 0]
    kept = load(run).tensors
    assert "process/1/env/engine/qpos" in kept
    assert not [name for name in kept if name.startswith(("process/1/policy", "process/1/ppo"))]

    alone = ["train", "--resume", str(run), "--iterations", "1", "--device", "cpu"]
    with pytest.raises(UserError, match="that run has 2 processes, now there are 1; go on with"):
        cli.dispatch(alone)
    measure = ["eval", str(run), "--family", "flat", "--points", "1", "--trials", "2"]
    assert cli.dispatch([*measure, "--device", "cpu"]) == 0
    assert "flat" in capsys.readouterr().out


def test_a_signal_to_torchrun_is_saved_by_the_leader(one, said):
    """The run begins from a run of one process: what the normalisers have seen before is counted
    once, not once for each process. (tests/runs/test_distributed_trainable.py has SIGINT.)"""
    run = one.with_name("stopped")
    rows = read_metrics(run)
    assert load(run).iteration == len(rows) >= 3
    assert {row["guard/apart"] for row in rows} == {0}
    assert f"tiny on cpu and 1 more: from {one} (iteration 4), seed 0, into {run}" in said
    assert said.count("stopping after this iteration") == 1
    assert said.count(f"torchrun --nproc-per-node 2 -m swap train --resume {run}") == 1
    counts = [float(load(x).tensors["policy/actor.mlp.norm.count"]) for x in (one, run)]
    assert counts[0] < counts[1] <= (1 + len(rows) / 4) * counts[0] + 8


@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_mistake_is_told_by_the_leader_first(rank, monkeypatch):
    """The leader's exit ends the others before they report it, too."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", rank)
    waited = []
    monkeypatch.setattr("swap.cli.train.time.sleep", waited.append)
    with pytest.raises(UserError, match="--worlds"):
        cli.dispatch([*SMALL, "--wrlds", "7"])
    assert waited == [3.0] * (rank == "1")


def test_each_process_takes_a_gpu_of_its_own(monkeypatch):
    assert local_device("cuda:1") == "cuda:1"  # alone, a user may choose
    for name, value in (("RANK", "3"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert local_device("cpu") == "cpu"
    assert local_device("cuda") == "cuda:1"
    with pytest.raises(UserError, match="use --device cuda"):
        local_device("cuda:0")
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(UserError, match="use --nproc-per-node 2"):
        local_device("cuda")
