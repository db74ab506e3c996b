"""Worlds saved and restored in the middle of an episode continue to the last bit."""

import pytest
import torch

from swap.env import CommandCfg, EnvCfg, ParkourEnv, RandomCfg, TerminationCfg, Trials
from swap.errors import UserError
from swap.sensors import DepthCameraCfg

BUSY = EnvCfg(  # ends, pushes and new commands all the time
    families=(("flat", 1.0), ("box", 1.0), ("rocks", 1.0)),
    levels=3,
    variants=2,
    terminations=TerminationCfg(episode_length_s=0.5),
    commands=CommandCfg(resample_s=0.2),
    random=RandomCfg(push_every_s=0.3, bodies_every=26),
    camera=DepthCameraCfg(),
)


def put_away(env):
    """Save the worlds as a checkpoint would."""
    return {name: x.clone() for name, x in env.state_dict().items()}


def live(env, steps: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        step = env.step(torch.randn(env.n, 12, generator=generator))
        yield step


def same(a, b) -> None:
    for one, two in ((a.state_dict(), b.state_dict()), (a.metrics(), b.metrics())):
        assert one.keys() == two.keys()
        for name, x in one.items():
            assert torch.equal(torch.as_tensor(x), torch.as_tensor(two[name])), name


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_worlds_go_on_alike(engine):
    straight, other = (ParkourEnv(BUSY, 9, engine=engine, seed=3) for _ in range(2))
    straight.reset()
    for _ in live(straight, 38, seed=0):
        pass  # 38 is no multiple of the camera's 5; of the bodies' 26 neither
    assert straight.state_dict()["old_body"].any() == (engine == "gpu")
    straight.camera.noise.lost[4] = True  # a lost frame shows an older one
    other.reset()
    for _ in live(other, 7, seed=9):
        pass
    other.load_state_dict(put_away(straight))
    for now, then in zip(straight.camera.frames, other.camera.frames, strict=True):
        assert torch.equal(now, then)
    ends = 0
    for a, b in zip(live(straight, 40, seed=1), live(other, 40, seed=1), strict=True):
        assert a.obs.keys() == b.obs.keys()
        for name, x in a.obs.items():
            assert torch.equal(x, b.obs[name]), name
        for name in ("reward", "terminated", "truncated", "valid"):
            assert torch.equal(getattr(a, name), getattr(b, name)), name
        ends += int((a.terminated | a.truncated).sum())
    assert ends > 9
    same(straight, other)


def test_looking_does_not_disturb(w):
    quiet, watched = (
        w.small(n=3, terminations=TerminationCfg(episode_length_s=0.2)) for _ in range(2)
    )
    for env in (quiet, watched):
        env.reset()
    for a, b in zip(live(quiet, 30, seed=0), live(watched, 30, seed=0), strict=True):
        put_away(watched)
        assert torch.equal(a.reward, b.reward)
    same(quiet, watched)


def test_a_checkpoint_stays_small(w):
    env = w.small(n=10)
    env.reset()
    size = sum(x.nbytes for x in env.state_dict().values())
    assert size < 10 * 3000 + 6000


def test_another_number_of_worlds_is_refused(w):
    with pytest.raises(UserError, match=r"was saved as \[3, 12\], now it is \[2, 12\]"):
        w.small(n=2).load_state_dict(put_away(w.small(n=3)))


def test_trials_too():
    import numpy as np

    from swap.courses import make

    courses = [make(name, 0.2, np.random.default_rng(0)) for name in ("flat", "box", "gap")]
    one, two = (Trials(EnvCfg(), courses, each=2, time_s=1.0) for _ in range(2))
    one.reset()
    for _ in live(one, 25, seed=0):
        pass
    two.load_state_dict(put_away(one))
    for env in (one, two):
        for _ in live(env, 40, seed=1):
            pass
    assert one.finished
    first, second = ({**vars(o), **vars(o.drawn)} for o in (one.outcome(), two.outcome()))
    for name in first.keys() - {"drawn"}:
        assert torch.equal(first[name], second[name]), name
