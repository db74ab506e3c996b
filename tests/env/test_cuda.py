"""Tests recorded steps on a real GPU; skipped without one. test_recordable.py runs everywhere."""

import numpy as np
import pytest
import torch

from swap.courses import make
from swap.env import CommandCfg, EnvCfg, ParkourEnv, RandomCfg, TerminationCfg, Trials
from swap.sensors import DepthCameraCfg

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

N = 64
CFG = EnvCfg(  # pushes and new commands all the time
    families=(("flat", 1.0), ("box", 1.0), ("stairs", 1.0)),
    levels=4,
    variants=2,
    terminations=TerminationCfg(episode_length_s=0.5),
    commands=CommandCfg(resample_s=0.2),
    random=RandomCfg(push_every_s=0.3, bodies_every=8),
)
ON = {"engine": "gpu", "device": "cuda", "seed": 1}


def actions(steps: int, n: int = N):
    generator = torch.Generator("cuda").manual_seed(7)
    for _ in range(steps):
        yield 0.5 * torch.randn(n, 12, generator=generator, device="cuda")


def unphysical(env) -> None:
    """Replace the physics, whose contact sums differ from run to run, by deterministic arithmetic.
    Some trunks hit the ground."""
    state = env.engine.state

    def step(targets):
        state.joint_vel.copy_((targets - state.joint_pos) * 5)
        state.joint_pos.copy_(targets)
        state.torque.copy_(targets * 30)
        state.base_pos[:, 0] += 0.02 * (1 + targets[:, 0])
        state.base_lin_vel[:, 0] = 1 + targets[:, 0]
        state.force.copy_(targets[:, :1, None].expand_as(state.force).abs() * 80)
        state.force[:, 4:].mul_((targets[:, 3, None, None] > 0.9) * 40)
        state.time.add_(0.02)

    env.engine.step = step


def stagger(env) -> None:
    """Let episodes end at different times."""
    env.frame_builder.steps.copy_(torch.arange(env.n, device="cuda") % 20)


def equal(a, b) -> None:
    assert a.obs.keys() == b.obs.keys()
    for name, x in a.obs.items():
        same(name, x, b.obs[name])
    for name in ("reward", "terminated", "truncated", "valid"):
        same(name, getattr(a, name), getattr(b, name))
    for name, x in a.info.items():
        same(name, x, b.info[name])


def same(name, x, y) -> None:
    """Tell where they differ if they do: the first entries, and by how much."""
    places = (x != y).nonzero()
    where = [(*place, float(x[*place]), float(y[*place])) for place in places[:8].tolist()]
    assert not len(places), f"{name}: {len(places)} of {x.numel()} differ, {where}"


def test_recorded_steps_are_the_steps():
    recorded, called = (ParkourEnv(CFG, N, capture=capture, **ON) for capture in (True, False))
    for env in (recorded, called):
        env.reset()
        unphysical(env)
        stagger(env)
    ends, rewards = 0, 0.0
    bodies = recorded.engine.drawn.payload.clone()
    for action in actions(60):
        a, b = recorded.step(action), called.step(action)
        equal(a, b)
        ends += int((a.terminated | a.truncated).sum())
        rewards += float(a.reward.sum())
    assert recorded._post_physics._graph is not None
    assert recorded._pre_physics._graph is not None
    assert called._post_physics._graph is None
    assert ends > N
    assert (recorded.engine.drawn.payload != bodies).all()
    assert rewards > 0
    ours, theirs = recorded.state_dict(), called.state_dict()
    for name, x in ours.items():
        if not name.startswith("episode_metrics/"):  # matrix products may choose another order
            assert torch.equal(x, theirs[name]), name
    a, b = recorded.metrics(), called.metrics()
    assert a.keys() == b.keys()
    for name, x in a.items():
        assert x == pytest.approx(b[name], rel=1e-3, abs=1e-6), name
    # A reset in between is not recorded, and does not disturb the recording.
    for env in (recorded, called):
        env.reset()
    for action in actions(10):
        equal(recorded.step(action), called.step(action))


def test_with_the_physics_in_every_step_is_close():
    """The worlds are made equal before each step, because contacts soon make them differ."""
    recorded, called = (ParkourEnv(CFG, N, capture=capture, **ON) for capture in (True, False))
    for env in (recorded, called):
        env.reset()
    stagger(recorded)
    same = total = 0
    for action in actions(40):
        called.load_state_dict(recorded.state_dict())
        a, b = recorded.step(action), called.step(action)
        close = torch.stack(
            [
                (a.obs[name] - b.obs[name]).abs().amax(1) < 1e-2
                for name in ("history", "privileged", "command")
            ]
        ).all(0)
        close &= (a.reward - b.reward).abs() < 1e-3
        close &= a.info["reason"] == b.info["reason"]
        same, total = same + int(close.sum()), total + N
        assert torch.equal(recorded.curriculum.level[close], called.curriculum.level[close])
        luck = (env.rng.generator.get_state() for env in (recorded, called))
        assert torch.equal(*luck)
    assert same > 0.97 * total


def test_a_recording_survives_a_resume():
    first, second = (ParkourEnv(CFG, N, **ON) for _ in range(2))
    for env in (first, second):
        env.reset()
        unphysical(env)
    for action in actions(12):
        first.step(action)
    for action in actions(6):
        second.step(-action)
    assert second._post_physics._graph is not None
    saved = {name: x.cpu().clone() for name, x in first.state_dict().items()}
    second.load_state_dict(saved)
    for action in actions(30):
        equal(first.step(action), second.step(action))


def test_trials_are_recorded_too():
    courses = [make(name, 0.3, np.random.default_rng(0)) for name in ("flat", "box", "gap")]
    recorded, called = (
        Trials(CFG, courses, each=8, time_s=0.6, capture=capture, **ON) for capture in (True, False)
    )
    for env in (recorded, called):
        env.reset()
        unphysical(env)
    for action in actions(40, n=24):
        equal(recorded.step(action), called.step(action))
    assert recorded.finished
    first, second = ({**vars(o), **vars(o.drawn)} for o in (recorded.outcome(), called.outcome()))
    for name in first.keys() - {"drawn"}:
        assert torch.equal(first[name], second[name]), name


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")  # torch: it may miss some
@pytest.mark.parametrize("capture", [True, False])
def test_nothing_waits_for_the_device(capture):
    cfg = EnvCfg(levels=2, variants=1, camera=DepthCameraCfg(), random=RandomCfg(bodies_every=4))
    env = ParkourEnv(cfg, N, capture=capture, **ON)
    env.reset()
    for action in actions(6):
        env.step(action)
    given = list(actions(12))
    torch.cuda.set_sync_debug_mode("error")
    try:
        for action in given:
            env.step(action)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.isfinite(env.step(given[0]).reward).all()
