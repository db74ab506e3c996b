"""The latent is held between ticks, cleared at once at a reset, and mirrors along the whole
chain."""

from functools import partial

import pytest
import torch

from swap.errors import UserError
from swap.policy import ActorCritic, LatentState, PolicyCfg, TickClock
from toy_model import ACTION, PROP, SPACES, build, observe

N, K = 4, 3
NOBODY = torch.zeros(N, dtype=torch.bool)
EVERYBODY = ~NOBODY


def world(i):
    """A mask of one world."""
    return torch.arange(N) == i


def inputs(model, steps, seed=5):
    """(depth, proprioception, noise, action) for each control step."""
    g = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        prop = torch.randn(N, 33, generator=g)
        depth = torch.rand(N, *model.image, generator=g) - 0.5
        noise = model.noise(N, like=prop, generator=g)
        yield depth, prop, noise, torch.randn(N, 12, generator=g)


def live(rate, steps, fresh=None, seed=5):
    """Observes and records; returns h after every observation."""
    told = []
    for t, (depth, prop, noise, action) in enumerate(inputs(rate.model, steps, seed)):
        observe(rate, depth, prop, (fresh or {}).get(t, EVERYBODY if t == 0 else NOBODY), noise)
        told.append(rate.h.clone())
        rate.record(action)
    return torch.stack(told)


def test_h_is_held_for_k_steps_and_follows_the_model():
    model = build(k=K)
    rate, every = LatentState(model, N, "cpu"), list(inputs(model, 10))
    h = live(rate, 10)
    state = model.initial(N, "cpu")
    for t in range(0, 10, K):
        actions = torch.zeros(N, K, 12)
        if t:
            actions = torch.stack([every[i][3] for i in range(t - K, t)], 1)  # oldest first
        depth, prop, noise, _ = every[t]
        first = EVERYBODY if t == 0 else NOBODY
        state = model.tick(state, actions, model.embed(depth, prop), first, noise)
        for i in range(t, min(t + K, 10)):
            assert torch.equal(h[i], state.h)
    assert (h[K].abs() > 0).all()
    assert not h.requires_grad


def test_a_reset_is_felt_at_once_and_by_no_one_else():
    model = build(k=K)
    undisturbed = live(LatentState(model, N, "cpu"), 12)
    for when in (4, 5, 6):  # a step after a tick, two, and at one
        rate = LatentState(model, N, "cpu")
        h = live(rate, 12, {0: EVERYBODY, when: world(1)})
        others = ~world(1)
        assert torch.equal(h[:, others], undisturbed[:, others])
        assert torch.equal(h[:when, 1], undisturbed[:when, 1])
        assert (h[when, 1] == 0).all()  # no stale latent, not even for one step
        assert not torch.equal(h[9, 1], undisturbed[9, 1])


def test_the_tick_after_a_reset_is_the_first_of_an_episode():
    """A world that is reset between ticks behaves from then on like a new one."""
    model = build(k=K)
    rate, anew = (LatentState(model, N, "cpu") for _ in range(2))
    every = list(inputs(model, 12))
    firsts = []
    for t, (depth, prop, noise, action) in enumerate(every):
        fresh = EVERYBODY if t == 0 else world(2) if t == 4 else NOBODY
        if observe(rate, depth, prop, fresh, noise):
            firsts.append(rate.first.clone())
        rate.record(action)
        if t >= 6:
            observe(anew, depth, prop, EVERYBODY if t == 6 else NOBODY, noise)
            assert torch.allclose(anew.h[2], rate.h[2], atol=1e-6)
            anew.record(action)
    expected = [EVERYBODY, NOBODY, world(2), NOBODY]
    assert all(torch.equal(a, b) for a, b in zip(firsts, expected, strict=True))


def test_at_a_tick_the_actions_that_led_to_it_are_there_to_be_kept():
    model = build(k=K)
    rate, every = LatentState(model, N, "cpu"), list(inputs(model, 4))
    for depth, prop, noise, action in every[:3]:
        observe(rate, depth, prop, NOBODY, noise)
        rate.record(action)
    assert rate.clock.due
    assert observe(rate, *every[3][:2], world(0), every[3][2])
    expected = torch.stack([x[3] for x in every[:3]], 1)
    expected[0] = 0  # reset at this very step
    assert torch.equal(rate.actions, expected)
    assert not rate.clock.due


def test_without_noise_a_robot_is_deterministic():
    model = build(k=K)
    for _ in range(2):
        torch.rand(1)
        rate = LatentState(model, N, "cpu")
        seen = []
        for depth, prop, _, action in inputs(model, 7):
            observe(rate, depth, prop, NOBODY, None)
            seen.append(rate.h.clone())
            rate.record(action)
        again = torch.stack(seen)
    sampled = live(LatentState(model, N, "cpu"), 7)
    assert not torch.allclose(again, sampled)
    assert torch.equal(again[0], torch.zeros_like(again[0]))


def test_a_resumed_life_is_the_same_life_in_place():
    model = build(k=K)
    one, two = (LatentState(model, N, "cpu") for _ in range(2))
    live(one, 5, seed=8)
    places = [x.data_ptr() for x in two.state_dict().values()]
    saved = {name: x.clone() for name, x in one.state_dict().items()}
    two.load_state_dict(saved)
    assert [x.data_ptr() for x in two.state_dict().values()] == places
    quiet = {0: NOBODY}
    assert torch.equal(live(one, 8, quiet), live(two, 8, quiet))
    assert [x.data_ptr() for x in two.state_dict().values()] == places
    with pytest.raises(UserError, match="'h' is not among the saved tensors"):
        two.load_state_dict({})
    with pytest.raises(UserError, match="resume with the config of the run"):
        LatentState(model, N + 1, "cpu").load_state_dict(saved)


def test_an_action_too_many_is_our_mistake():
    rate = LatentState(build(k=K), N, "cpu")
    with pytest.raises(AssertionError, match="observe before the next"):
        rate.record(torch.zeros(N, 12))


def test_two_that_share_a_clock_tick_together():
    """As in a tracker: the parts of both run one after the other when the clock ticks."""
    model, clock = build(k=K), TickClock(K)
    alone = LatentState(model, N, "cpu")
    pair = [LatentState(model, N, "cpu", clock) for _ in range(2)]

    def reset(mask):
        for state in pair:
            state.reset(mask)

    def tick(*seen):
        for state in pair:
            state.tick(*seen)

    ticks = 0
    for t, (depth, prop, noise, action) in enumerate(inputs(model, 7)):
        fresh = world(1) if t == 4 else NOBODY
        observe(alone, depth, prop, fresh, noise)
        ticks += clock.observe(fresh, reset, partial(tick, depth, prop, noise))
        for state in pair:
            assert torch.equal(state.h, alone.h)
        alone.record(action)
        place = clock.record()
        for state in pair:
            state.write(action, place)
    assert ticks == 3
    assert not clock.due


def test_what_there_is_to_see_is_read_at_ticks_only():
    def note(t, seen):
        reads.append(t)
        return seen

    rate, reads = LatentState(build(k=K), N, "cpu"), []
    for t, (depth, prop, noise, action) in enumerate(inputs(rate.model, 2 * K + 1)):
        seen = depth, prop, noise
        told = rate.observe(None, partial(note, t, seen))
        assert told == (t % K == 0)
        rate.record(action)
    assert reads == [0, K, 2 * K]


# --- the whole chain ------------------------------------------------------------------------------
def chain(*, equivariant, full, mirror, steps=20):
    """Depth and proprioception -> tick -> actor -> action, which the next tick reads; eqs. 14-17.
    Returns the actions and values of every step, in a world or its mirror image."""
    model = build(equivariant=equivariant, **({"full": True} if full else {"k": K}))
    cfg = PolicyCfg(
        actor_reads=("history", "command", "latent"),
        critic_reads=("privileged", "latent"),
        actor_hidden=(64, 32),
        critic_hidden=(48,),
        equivariant=equivariant,
    )
    groups = {
        "history": SPACES.actor_history,
        "command": SPACES.command,
        "privileged": SPACES.privileged,
        "latent": model.latent_layout,
    }
    torch.manual_seed(4)
    policy = ActorCritic(cfg, groups, ACTION)
    with torch.no_grad():  # a fresh actor hardly moves
        for p in policy.actor.mlp.net.out.parameters():
            p.mul_(100)
    g = torch.Generator().manual_seed(6)
    rate, told = LatentState(model, N, "cpu"), []
    z = model.categoricals.rep
    for t, (depth, prop, noise, _) in enumerate(inputs(model, steps)):
        obs = {name: torch.randn(N, x.dim, generator=g) for name, x in groups.items()}
        fresh = EVERYBODY if t == 0 else torch.rand(N, generator=g) < 0.05
        if mirror:
            depth, prop, noise = depth.flip(-1), PROP(prop), z(noise)
            obs = {name: groups[name].rep(x) for name, x in obs.items()}
        observe(rate, depth, prop, fresh, noise)
        obs["latent"] = rate.h
        policy.update_normalizers(obs)
        with torch.no_grad():
            action, value = policy.mean(obs), policy.value(obs)
        rate.record(action)
        told.append((ACTION(action) if mirror else action, value))
    assert torch.isfinite(action).all()
    return [torch.stack(x) for x in zip(*told, strict=True)]


@pytest.mark.parametrize("full", [True, False])
def test_the_whole_chain_mirrors_bit_for_bit(full):
    here, there = (chain(equivariant=True, full=full, mirror=m) for m in (False, True))
    for a, b in zip(here, there, strict=True):
        assert torch.equal(a, b)
        assert a.std() > 0.1


def test_the_plain_chain_does_not():
    here, there = (chain(equivariant=False, full=False, mirror=m) for m in (False, True))
    for a, b in zip(here, there, strict=True):
        assert not torch.allclose(a, b, atol=0.1)


def test_the_latent_reaches_the_action():
    """Otherwise the chain would mirror whatever the world model did."""
    model = build(k=K)
    groups = {"command": SPACES.command, "latent": model.latent_layout}
    cfg = PolicyCfg(("command", "latent"), ("command",), (16,), (16,))
    policy, command = ActorCritic(cfg, groups, ACTION), torch.zeros(N, 3)
    h = live(LatentState(model, N, "cpu"), 5)[-1]
    a, b = (policy.mean({"command": command, "latent": x}) for x in (h, torch.zeros_like(h)))
    assert not torch.equal(a, b)
