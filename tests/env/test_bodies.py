"""On the GPU engine every episode gets its own masses (body), some steps after its start."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from swap.courses import make
from swap.env import EnvCfg, ParkourEnv, RandomCfg, TerminationCfg, Trials
from swap.errors import UserError
from swap.sim import BODY_PARTS, FIXED, Ranges
from swap.sim.randomise import reps

EVERY = 4
CFG = EnvCfg(
    families=(("flat", 1.0), ("box", 1.0)),
    levels=2,
    variants=1,
    terminations=TerminationCfg(episode_length_s=0.26),
    random=RandomCfg(bodies_every=EVERY),
)


def bodies(env: ParkourEnv) -> torch.Tensor:
    """[N, 16]: all parameters of the bodies."""
    return torch.cat([getattr(env.engine.drawn, x).view(env.n, -1) for x in BODY_PARTS], 1)


def live(env: ParkourEnv, steps: int):
    """Yield steps with the worlds whose body changed; episodes end at different times."""
    env.reset()
    env.frame_builder.steps.copy_(torch.arange(env.n) % 13)
    for _ in range(steps):
        before = bodies(env).clone()
        step = env.step(torch.zeros(env.n, 12))
        yield step, (bodies(env) != before).any(1)


def test_every_episode_gets_a_body_and_keeps_it():
    env = ParkourEnv(CFG, 9, engine="gpu")
    began = ended = torch.zeros(env.n, dtype=torch.bool)
    times = torch.zeros(env.n)
    mass = env.groups["privileged"]["mass"]
    for k, (step, changed) in enumerate(live(env, 60), 1):
        want = began if k % EVERY == 0 else torch.zeros_like(began)
        assert torch.equal(changed, want), k
        began = (began & ~changed) | ended
        ended = step.terminated | step.truncated
        times += changed
        told = step.obs["privileged"][:, mass][:, 0]
        assert torch.allclose(told * env.robot.mass / 5, env.engine.drawn.payload, atol=1e-4)
    assert times.min() >= 3


def test_zero_is_never():
    env = ParkourEnv(replace(CFG, random=RandomCfg(bodies_every=0)), 4, engine="gpu")
    assert not any(changed.any() for _, changed in live(env, 30))


def test_bodies_that_do_not_differ_are_not_drawn():
    ranges = Ranges(payload=FIXED.payload, link_mass=FIXED.link_mass, com=FIXED.com)
    env = ParkourEnv(replace(CFG, random=RandomCfg(ranges, bodies_every=1)), 2, engine="gpu")
    env._randomise_bodies = None  # calling it would fail
    assert not any(changed.any() for _, changed in live(env, 20))


def test_on_the_cpu_engine_an_episode_begins_with_it():
    env = ParkourEnv(CFG, 9, engine="cpu")
    ended = torch.zeros(env.n, dtype=torch.bool)
    for step, changed in live(env, 30):
        assert torch.equal(changed, ended)
        ended = step.terminated | step.truncated


def test_mirrored_worlds_get_mirrored_bodies(w):
    pairs = 4
    env = w.Pairs(CFG, pairs, engine="gpu")
    seen = 0
    for _, changed in live(env, 40):
        env.frame_builder.steps[pairs:] = env.frame_builder.steps[
            :pairs
        ]  # they start and end together
        seen += int(changed.sum())
        for name in BODY_PARTS:
            one, two = getattr(env.engine.drawn, name).split(pairs)
            rep = reps(env.robot)[name]
            assert torch.equal(two, rep(one) if one.ndim == 2 else one), name
    assert seen > 2 * pairs


def test_trials_keep_theirs():
    courses = [make("flat", 0.0, np.random.default_rng(0))]
    env = Trials(CFG, courses, each=2, time_s=0.2, engine="gpu", device="cpu")
    env.reset()
    first = bodies(env).clone()
    env._randomise_bodies = None  # calling it would fail
    for _ in range(3 * EVERY):
        env.step(torch.zeros(2, 12))
    assert torch.equal(bodies(env), first)


def test_a_time_backwards_is_refused():
    with pytest.raises(UserError, match="bodies_every=-1; use 0 or more"):
        RandomCfg(bodies_every=-1)
