"""Training learns, resumes bit for bit, and a mirrored run ends with the same parameters."""

import json

import pytest
import torch

import tiny_swap
from swap.errors import UserError
from swap.learn import Trainer
from toy_world import ACTION, Toy, small


def train(trainer, iterations):
    return [trainer.iterate() for _ in range(iterations)]


@pytest.mark.parametrize("equivariant", [True, False])
def test_it_learns(equivariant):
    """Random actions are worth 0.3, all 40 steps at the origin would be worth 4."""
    figures = train(Trainer(small(equivariant=equivariant), Toy(64)), 30)
    assert figures[0]["return"] < 0.8
    assert figures[-1]["return"] > 3.3
    assert figures[-1]["rollout/explained_variance"] > 0.9
    assert figures[-1]["steps"] == 30 * 24 * 64
    assert figures[-1]["ppo/kl"] < 0.05


def test_normalisers_learn_from_every_fourth_step():
    trainer = Trainer(small(), Toy(64))
    trainer.iterate()
    seen = float(trainer.policy.actor.mlp.norm.count)
    assert 0.8 * 6 * 64 < seen <= 6 * 64  # of 24 steps; those of worlds that had ended not


def same(a, b):
    here, there = a.state_dict(), b.state_dict()
    assert here.keys() == there.keys()
    for name, x in here.items():
        assert torch.equal(x, there[name]), name
    assert a.numbers() == b.numbers()


def put_away(trainer):
    """Saves the state as a checkpoint does: copied tensors, and numbers through JSON."""
    tensors = {name: x.cpu() for name, x in trainer.state_dict().items()}
    return tensors, json.loads(json.dumps(trainer.numbers()))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_n_and_n_iterations_are_2n_bit_for_bit(n):
    straight, first = Trainer(small(), Toy(32, seed=3)), Trainer(small(), Toy(32, seed=3))
    train(straight, n + 4)
    train(first, n)
    second = Trainer(small(seed=99), Toy(32, seed=77))  # all of it is overwritten
    train(second, 1)
    second.load_state_dict(*put_away(first))
    same(first, second)
    train(second, 4)
    same(straight, second)
    assert n == 0 or second.ppo.adam.state[second.ppo.parameters[0]]["step"] == (n + 4) * 20


def test_saving_does_not_disturb_the_run():
    quiet, saving = (Trainer(small(), Toy(32)) for _ in range(2))
    for _ in range(3):
        quiet.iterate()
        saving.iterate()
        put_away(saving)
    same(quiet, saving)


def test_another_config_is_refused_by_name():
    tensors, numbers = put_away(Trainer(small(), Toy(32)))
    with pytest.raises(UserError, match="saved as"):
        Trainer(small(), Toy(16)).load_state_dict(tensors, numbers)
    del tensors["ppo/lr"]
    with pytest.raises(UserError, match="'ppo/lr' is not among"):
        Trainer(small(), Toy(32)).load_state_dict(tensors, numbers)


def test_seeds_matter_and_repeat():
    runs = [Trainer(small(seed=seed), Toy(16)) for seed in (1, 1, 2)]
    for trainer in runs:
        trainer.iterate()
    a, b, c = (trainer.policy.actor.mlp.net.layers[0].weight[0] for trainer in runs)
    assert torch.equal(a, b)
    assert not torch.allclose(a, c)


class Reflected(Trainer):
    """Explores with the mirror image of the noise."""

    def noise(self):
        return ACTION.rep(super().noise())


def reflected_pair(equivariant):
    cfg = small(equivariant=equivariant)
    here, there = Trainer(cfg, Toy(48)), Reflected(cfg, Toy(48, mirrored=True))
    return here, there, train(here, 5), train(there, 5)


def test_five_iterations_in_the_mirror_end_in_the_same_parameters():
    here, there, figures, theirs = reflected_pair(equivariant=True)
    assert (here.rollout.terminated | here.rollout.truncated).any()
    for name, x in here.state_dict().items():
        if name.startswith(("policy/", "ppo/")):
            assert torch.equal(x, there.state_dict()[name]), name
    assert torch.equal(there.rollout.action, ACTION.rep(here.rollout.action))
    for name, x in figures[-1].items():
        assert name.startswith("time/") or x == theirs[-1][name], name
    assert figures[-1]["return"] > figures[0]["return"]


def test_the_plain_twin_learns_another_policy_in_the_mirror():
    here, there, _, _ = reflected_pair(equivariant=False)
    assert not torch.allclose(here.ppo.parameters[0], there.ppo.parameters[0], atol=1e-2)


def test_the_world_model_learns_nothing_from_a_world_that_diverged():
    """The engine has put its robot back by then, so that all values are finite, but nothing moved
    it there."""
    trainer = tiny_swap.CFG.build("cpu")
    step, count, k = trainer.env.step, 0, trainer.model.k

    def diverging(action):
        nonlocal count
        count += 1
        told = step(action)
        if count == k:  # what is observed now is a tick
            told.valid[0], told.terminated[0] = False, True
        return told

    trainer.env.step = diverging
    while count < 2 * k:
        trainer.iterate()
    kept = trainer.learner.replay.data
    assert kept["valid"][1].tolist() == [False, True, True, True]
    assert kept["first"][2].tolist()[0]
    assert kept["valid"][2].all()
