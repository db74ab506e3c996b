"""Two processes with half of the samples each learn what one learns from all of them."""

import pytest
import torch

from swap.device.cuda_graph import GraphedCallable
from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.errors import UserError
from swap.learn import Trainer
from toy_world import Toy, small
from two_process_learning import KINDS, WORLDS
from two_processes import run_scenarios

CLOSE = 2e-6
"""A few rounding errors of a parameter; the steps compared here are 1,000 to 30,000 times as
long."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return run_scenarios("two_process_learning.py", tmp_path_factory.mktemp("pair"))


def told(seen, name):
    """The results of both processes, whose weights are the same to the last bit."""
    one, other = seen[name]
    assert one.get("hash") == other.get("hash")
    return one, other


def agree(one, other):
    """Compares the figures of one process with all samples and of two that share them."""
    assert one.keys() <= other.keys()
    for name, x in one.items():
        assert x == pytest.approx(other[name], rel=1e-4, abs=1e-5), name


@pytest.mark.parametrize("kind", KINDS)
def test_ppo(seen, kind):
    for each in told(seen, f"ppo {kind}"):
        few, many = each["valid"]
        assert few < 0.6 * many  # a plain mean over the two would be off
        assert each["advantage"] < CLOSE
        assert each["moved"] > 0.01
        assert each["parameters"] < CLOSE
        assert each["lr"][0] == each["lr"][1]
        agree(*each["figures"])


@pytest.mark.parametrize("name", ["model", "amp"])
def test_the_other_learners(seen, name):
    for each in told(seen, name):
        assert each["moved"] > 1e-3
        assert each["parameters"] < CLOSE
        agree(*each["figures"])
    if name == "model":
        assert any(a != b for a, b in each["valid"])
    else:
        assert each["statistics"] < CLOSE


def test_normalisers_pool_what_each_has_seen(seen):
    for each in told(seen, "statistics"):
        assert each["count"] == 60
        assert each["apart"] < 1e-6


def test_a_fault_in_one_holds_all_and_counts_once(seen):
    for each in told(seen, "fault"):
        assert each == {"same": True, "skipped": 1}


def test_whole_iterations_on_the_same_worlds(seen):
    for each in told(seen, "whole iterations"):
        assert each["moved"] > 0.01
        assert each["parameters"] < 10 * CLOSE
        agree(*each["figures"])


def test_a_team_with_worlds_of_its_own_stays_one(seen):
    one, other = told(seen, "training")
    assert one["rollout"] != other["rollout"]  # they explore independently
    assert one["told"] == other["told"]  # and report the same
    assert one["told"][-1]["steps"] == 3 * 24 * 2 * 16
    assert [row["guard/apart"] for row in one["told"]] == [0, 0, 0]
    assert one["tampered"] == other["tampered"] == 1  # weights that differ are detected


# --- no processes --------------------------------------------------------------------------------
class Echo(ProcessGroup):
    """All other processes have the same values as this one."""

    def all_reduce_(self, x):
        x.mul_(self.size)

    def broadcast_tensors(self, several):
        pass


CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=CUDA)])
def test_both_halves_of_a_step_are_the_step(device):
    """On a GPU each half becomes a CUDA graph after some calls that are not recorded."""
    one, halves = (
        Trainer(small(), Toy(32, device=device), processes=processes)
        for processes in (SINGLE_PROCESS, Echo(0, 2))
    )
    one.collector.collect(0.99, 0.95)
    halves.rollout = halves.ppo.rollout = one.rollout
    before = one.ppo.parameters[0].detach().clone()
    for seed in range(6):
        order = torch.randperm(len(one.rollout), generator=torch.Generator().manual_seed(seed))
        for trainer in (one, halves):
            trainer.ppo.step(order[: trainer.ppo.size].to(device))
    assert (one.ppo.parameters[0] - before).abs().max() > 1e-3
    for x, y in zip(one.ppo.parameters, halves.ppo.parameters, strict=True):
        assert torch.allclose(x, y, atol=CLOSE if device == "cpu" else 1e-4)
    assert torch.equal(one.ppo.lr, halves.ppo.lr)
    assert one.metrics.read()["ppo/kl"] == pytest.approx(halves.metrics.read()["ppo/kl"], rel=1e-3)


def test_alone_nothing_is_done(monkeypatch):
    def never(*_, **__):
        raise AssertionError("a process alone has nobody to talk to")

    for name in ("all_reduce", "broadcast", "gather_object", "init_process_group"):
        monkeypatch.setattr(f"swap.distributed.dist.{name}", never)
    x = torch.ones(3)
    assert SINGLE_PROCESS.all_reduce(x)[0] is x
    assert SINGLE_PROCESS.gather(x)[0] is x
    assert SINGLE_PROCESS.broadcast(7) == 7
    trainer = Trainer(small(), Toy(8))
    assert isinstance(trainer.ppo.step, GraphedCallable)
    assert "guard/apart" not in trainer.iterate()


def test_shares():
    assert SINGLE_PROCESS.split_evenly(7, "worlds") == 7
    assert ProcessGroup(1, 2).split_evenly(WORLDS, "worlds") == WORLDS // 2
    for whole, near in ((7, 8), (1, 4), (9, 8)):
        with pytest.raises(UserError, match=f"worlds={whole} .* among 4 processes; use {near}"):
            ProcessGroup(1, 4).split_evenly(whole, "worlds")
