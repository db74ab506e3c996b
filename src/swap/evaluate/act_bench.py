"""Measures how long one robot waits for an action on one CPU core, with a tick and without."""

import time
from typing import Any

import torch

from swap.device.threads import one_thread
from swap.policy import Agent, Networks, build_networks
from swap.presets.swap import NO_EQ, SWAP

ARMS = {"equivariant": SWAP, "plain": NO_EQ}
ROUND, WARM_UP = 60, 10
"""Control steps of one agent before it is another's turn, and how many of them are not timed: a
robot has its caches to itself."""


def bench(rounds: int) -> list[dict[str, Any]]:
    """Rows of milliseconds, median and 99th percentile, of exact agents and of fast
    ones, in turns."""
    agents = {
        (name, fast): Agent(networks(name), 1, "cpu", fast=fast)
        for name in ARMS
        for fast in (False, True)
    }
    spec = SWAP.env.spec
    torch.manual_seed(0)
    obs = {name: torch.randn(1, x.dim) for name, x in spec.groups.items()}
    assert spec.camera is not None
    obs["depth_noisy"] = torch.rand(1, spec.camera.rows, spec.camera.cols)
    spent: dict[tuple[str, bool, bool], list[float]] = {}
    with one_thread(wanted=True):
        for _ in range(rounds):
            for (name, fast), agent in agents.items():
                for step in range(ROUND):
                    start = time.perf_counter()
                    agent.act(obs)
                    elapsed = time.perf_counter() - start
                    if step >= WARM_UP:
                        spent.setdefault((name, fast, agent.ticked), []).append(1000 * elapsed)
    rows = []
    for ticked in (False, True):
        for fast in (False, True):
            what = f"{'tick and ' if ticked else ''}action of 1{', fast' if fast else ''}"
            for label, share in (("ms", 0.5), ("p99 ms", 0.99)):
                times = {name: quantile(spent[name, fast, ticked], share) for name in ARMS}
                rows.append({"what": f"{what}, {label}", **times})
    return rows


def networks(arm: str) -> Networks:
    """Untrained, frozen as those of a trained robot."""
    cfg = ARMS[arm].learning
    assert cfg.model is not None
    made = build_networks(cfg.policy, cfg.model.net, ARMS[arm].env.spec, cfg.seed)
    for part in made:
        assert part is not None
        part.eval().requires_grad_(False)
    return made


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(share * (len(times) - 1))]
