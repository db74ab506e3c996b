"""Warp starts without output, one line announces a long compilation, and devices where Warp cannot
run are recognised."""

import subprocess
import sys
import time

import torch
import warp as wp

from swap.device import warp_start as wake

QUIET = """
import torch
from swap.courses import make, stack
from swap.robots import load
from swap.sensors import DepthRenderer, OpticsCfg
import numpy as np
boxes = stack([make("box", 0.5, np.random.default_rng(0))])
renderer = DepthRenderer(OpticsCfg(), load("apollo").camera, 1)
renderer(boxes, torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 0.0, 0.0]]))
"""


def test_nothing_is_printed_that_nobody_asked_for():
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr == ""


def test_a_long_compilation_is_announced(capfd, monkeypatch):
    with wake.announce_compilation(str):
        pass
    monkeypatch.setattr(wake, "PATIENCE_S", 0.01)
    with wake.announce_compilation(str):
        time.sleep(0.3)
    time.sleep(0.1)
    assert capfd.readouterr().err == f"{wake.COMPILING}\n"

    monkeypatch.setattr(wake, "AGAIN_S", 0.1)
    counts = iter(range(100))
    with wake.announce_compilation(lambda: f"{next(counts)} of 9"):
        time.sleep(0.35)
    first, *others = capfd.readouterr().err.splitlines()
    assert first == wake.COMPILING
    assert others == [f"compiling kernels: {k} of 9" for k in range(len(others))]
    assert others


def test_where_warp_can_run(monkeypatch):
    assert wake.warp_runs_on("cpu")
    assert wake.warp_runs_on("cuda") == torch.cuda.is_available()

    def refuse(*_, **__):
        raise RuntimeError("no compiler")

    wake.warp_runs_on.cache_clear()
    monkeypatch.setattr(wp, "launch", refuse)
    assert not wake.warp_runs_on("cpu")
    wake.warp_runs_on.cache_clear()
