"""Actor and critic learn in two threads what they learn in one, to the last bit."""

from dataclasses import replace

import pytest
import torch

from swap.learn import SymmetryCfg, Trainer
from toy_world import Toy, small


def learned(kind, threads):
    """The parameters after a few iterations, and whether the threads were used."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        cfg = small() if kind is None else small(equivariant=False)
        trainer = Trainer(replace(cfg, symmetry=SymmetryCfg(kind)) if kind else cfg, Toy(32))
        used, differentiate = [], trainer.ppo._differentiate

        def noted(loss):
            used.append(trainer.ppo.side_by_side.active)
            return differentiate(loss)

        trainer.ppo._differentiate = noted
        for _ in range(3):
            trainer.iterate()
        return [p.detach().clone() for p in trainer.ppo.parameters], used
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", [None, "loss", "augment"])
def test_two_threads_learn_what_one_learns(kind):
    one, alone = learned(kind, 1)
    two, beside = learned(kind, 2)
    assert not any(alone)
    assert all(beside)
    assert len(alone) == len(beside) > 0
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
