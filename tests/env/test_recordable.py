"""Checks on the CPU what a GPU would record: every step does the same operations on the same
memory."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from swap.courses import make
from swap.env import CommandCfg, EnvCfg, ParkourEnv, RandomCfg, TerminationCfg, Trials
from swap.sim import Ranges

CFG = EnvCfg(  # ends, pushes and new commands all the time
    families=(("flat", 1.0), ("box", 1.0)),
    levels=3,
    variants=2,
    terminations=TerminationCfg(episode_length_s=0.1),
    commands=CommandCfg(resample_s=0.06),
    random=RandomCfg(Ranges(damping=(0.7, 1.2)), push_every_s=0.1, bodies_every=5),
)


class Tape(TorchDispatchMode):
    """Records every operation, the outside memory that it reads, and the generator that it uses."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple] = []
        self.strange: list[str] = []  # draws from no known generator
        self._made: set[int] = set()  # since the tape began

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = tree_leaves((args, kwargs or {}))
        made = func(*args, **(kwargs or {}))
        tensors = [x for x in given if isinstance(x, torch.Tensor)]
        outside = [x for x in tensors if x.untyped_storage().data_ptr() not in self._made]
        self.notes.append((str(func), [(x.data_ptr(), x.shape, x.stride()) for x in outside]))
        if "rand" in str(func) and not any(isinstance(x, torch.Generator) for x in given):
            self.strange.append(str(func))
        old = {x.untyped_storage().data_ptr() for x in outside}
        new = [x for x in tree_leaves(made) if isinstance(x, torch.Tensor)]
        self._made |= {x.untyped_storage().data_ptr() for x in new} - old
        return made


def training() -> ParkourEnv:
    return ParkourEnv(CFG, 5, engine="gpu", device="cpu")


def trials() -> ParkourEnv:
    courses = [make(name, 0.2, np.random.default_rng(0)) for name in ("flat", "box")]
    return Trials(CFG, courses, each=2, time_s=0.1, engine="gpu", device="cpu")


@pytest.mark.parametrize("make_env", [training, trials])
def test_a_step_does_the_same_whatever_happens_in_it(make_env):
    env, tapes = make_env(), ([], [])
    generator, ended = torch.Generator().manual_seed(0), set()
    env.reset()
    for work, mine in zip((env._pre_physics, env._post_physics), tapes, strict=True):

        def noted(*args, call=work.work, mine=mine):
            with Tape() as tape:
                result = call(*args)
            mine.append(tape)
            return result

        work.work = noted
    action = torch.zeros(env.n, 12)  # in one place, as what a recording reads
    for _ in range(12):
        step = env.step(torch.randn(env.n, 12, generator=generator, out=action))
        ended.add(bool((step.terminated | step.truncated).any()))
    assert ended == {False, True}
    for mine in tapes:
        assert len(mine) == 12
        assert len(mine[0].notes) > 5
        for tape in mine[1:]:
            assert tape.notes == mine[0].notes
            assert tape.strange == []


def test_a_state_that_moves_is_noticed():
    env = training()
    env.reset()
    notes = []
    for _ in range(2):
        with Tape() as tape:
            env._post_physics.work()
        notes.append(tape.notes)
        env.frame_builder.best_x = env.frame_builder.best_x.clone()
    assert notes[0] != notes[1]


def test_all_that_lasts_stays_in_place():
    env = training()
    env.reset()

    def places() -> dict[str, int]:
        return {name: x.data_ptr() for name, x in env.state_dict().items() if name != "generator"}

    before = places()
    for _ in range(12):
        env.step(torch.zeros(env.n, 12))
    env.load_state_dict(env.state_dict())
    env.reset()
    assert places() == before
