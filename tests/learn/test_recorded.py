"""Training whose inference and gradient steps are recorded is the same training, bit for bit.

`fake_cuda_graph` makes the recordings, so that this can be tested without a GPU; test_cuda.py uses
a real one.
"""

from dataclasses import replace

import pytest
import torch

import fake_cuda_graph
import tiny_swap
from swap.device.cuda_graph import GraphedCallable
from swap.learn import SymmetryCfg, Trainer
from toy_world import Toy, small

SWAP = replace(
    tiny_swap.CFG,
    engine="cpu",
    ppo=replace(tiny_swap.CFG.ppo, steps=12),
    model=replace(tiny_swap.CFG.model, ticks=3, memory=8, updates=3),
    amp=replace(tiny_swap.CFG.amp, updates=3),
)
PLAIN = replace(
    SWAP,
    policy=replace(SWAP.policy, equivariant=False),
    model=replace(SWAP.model, net=replace(SWAP.model.net, equivariant=False)),
    amp=replace(SWAP.amp, equivariant=False),
)


def toy(kind):
    cfg = replace(small(equivariant=kind == "none"), symmetry=SymmetryCfg(kind))
    return lambda env: Trainer(cfg, env), lambda: Toy(16)


def swap(kind):
    cfg = SWAP if kind == "none" else replace(PLAIN, symmetry=SymmetryCfg(kind))
    return cfg.trainer, lambda: cfg.make_env("cpu")


def recordings(*owners):
    """All recorded calls of these objects."""
    found = {}
    for owner in owners:
        mine = {k: x for k, x in vars(owner).items() if isinstance(x, GraphedCallable)}
        mine.pop("_look", None)  # for several processes
        found |= {f"{type(owner).__name__}.{name}": x for name, x in mine.items()}
    return found


@pytest.mark.parametrize(
    ("what", "kind"), [(toy, "none"), (toy, "loss"), (swap, "none"), (swap, "augment")]
)
def test_a_recorded_training_is_the_training(what, kind, monkeypatch):
    make, make_env = what(kind)
    envs = make_env(), make_env()  # not recorded: there Warp computes, too
    called = make(envs[0])
    fake_cuda_graph.install(monkeypatch)
    recorded = make(envs[1])
    for _ in range(4):
        ours, theirs = recorded.iterate(), called.iterate()
        assert {k: x for k, x in ours.items() if not k.startswith("time/")} == {
            k: x for k, x in theirs.items() if not k.startswith("time/")
        }
    mine, others = recorded.state_dict(), called.state_dict()
    for name, x in mine.items():
        assert torch.equal(x, others[name]), name
    parts = [recorded.collector, recorded.collector.latent_tracker]
    parts += [recorded.ppo, recorded.learner, recorded.amp]
    works = recordings(*(x for x in parts if x is not None))
    assert len(works) == (4 if what is toy else 10)
    for name, work in works.items():
        assert work.enabled, name
        assert work._graph.replays, name
    assert not called.ppo.step.enabled
