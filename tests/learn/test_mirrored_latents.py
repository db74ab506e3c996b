"""The latent of the mirrored world, with noise and without."""

import torch

import toy_model
from swap.learn import ReplayBuffer
from swap.learn.latent_tracker import IMAGES, LatentTracker
from swap.learn.mirrored_inputs import MIRRORED_LATENT, NOISELESS_LATENT, MirroredInputs
from swap.policy import ActorCritic, LatentState, PolicyCfg
from toy_model import SPACES

N = 5
EVERY = torch.ones(N, dtype=torch.bool)


def random_obs(g):
    widths = {"proprioception": 33, "body_heights": 286, "foot_heights": 100}
    vectors = {name: torch.randn(N, width, generator=g) for name, width in widths.items()}
    return vectors | {name: torch.rand(N, *toy_model.IMAGE, generator=g) for name in IMAGES}


def test_it_is_the_latent_of_a_robot_in_the_mirrored_world_bit_for_bit():
    model = toy_model.build(equivariant=False)
    g, noises = torch.Generator().manual_seed(2), []

    def noise():
        noises.append(model.noise(N, like=torch.empty(0), generator=g))
        return noises[-1]

    replay = ReplayBuffer(model, N, 16, torch.device("cpu"), mirrored=True)
    latent_tracker = LatentTracker(
        model, replay, noise, torch.device("cpu"), capture=False, mirrored="sampled"
    )
    there = LatentState(model, N, "cpu")
    code, ticks = model.codec, 0
    for t in range(14):
        obs = random_obs(g)
        fresh = torch.rand(N, generator=g) < (1.0 if t == 0 else 0.1)
        latent_tracker.observe(obs, fresh, EVERY)
        depth = code.from_linear(obs["depth_noisy"]).flip(-1)
        prop = SPACES.proprioception.rep(obs["proprioception"])
        if toy_model.observe(there, depth, prop, fresh, noises[-1]):
            assert torch.equal(replay.data["mirrored_h"][ticks], there.h.half())
            ticks += 1
        assert torch.equal(latent_tracker.latents[MIRRORED_LATENT], there.h)
        for mine, other in zip(latent_tracker.mirrored.latent, there.latent, strict=True):
            assert torch.equal(mine, other)
        action = torch.randn(N, 12, generator=g)
        latent_tracker.record(action)
        there.record(SPACES.action.rep(action))
    assert len(noises) == 2 * ticks == 10  # one of its own at every tick
    assert not torch.equal(latent_tracker.h, there.h)


def test_of_an_equivariant_model_it_is_the_mirror_image():
    """With mirrored noise, `MirroredLatent` mirrors all its inputs in the right places."""
    model = toy_model.build()
    z = model.categoricals.rep
    base = model.noise(20, N, like=torch.empty(0), generator=torch.Generator().manual_seed(4))
    noises = iter([x for noise in base for x in (noise, z(noise))])
    replay = ReplayBuffer(model, N, 16, torch.device("cpu"))
    latent_tracker = LatentTracker(
        model,
        replay,
        lambda: next(noises),
        torch.device("cpu"),
        capture=False,
        mirrored="sampled",
    )
    for t in range(10):
        obs = random_obs(torch.default_generator)
        latent_tracker.observe(obs, torch.full((N,), t == 0), EVERY)
        latent_tracker.record(torch.randn(N, 12))
    assert latent_tracker.h.abs().max() > 0.1
    assert torch.equal(
        latent_tracker.latents[MIRRORED_LATENT], model.latent_layout.rep(latent_tracker.h)
    )


def test_without_noise_the_mirrored_latent_is_the_mirror_image():
    model = toy_model.build()
    drawn = []

    def noise():
        drawn.append(model.noise(N, like=torch.empty(0)))
        return drawn[-1]

    replay = ReplayBuffer(model, N, 16, torch.device("cpu"))
    tracker = LatentTracker(
        model, replay, noise, torch.device("cpu"), capture=False, mirrored="noiseless"
    )
    alone = LatentState(model, N, "cpu")
    for t in range(10):
        obs = random_obs(torch.default_generator)
        fresh = torch.full((N,), t == 0)
        tracker.observe(obs, fresh, EVERY)
        depth = model.codec.from_linear(obs["depth_noisy"])
        toy_model.observe(alone, depth, obs["proprioception"], fresh, None)
        action = torch.randn(N, 12)
        tracker.record(action)
        alone.record(action)
    assert len(drawn) == len(range(0, 10, model.k))  # only what the robots act on is drawn
    assert torch.equal(tracker.latents[NOISELESS_LATENT], alone.h)
    mirror_image = model.latent_layout.rep(alone.h)
    assert torch.equal(tracker.latents[MIRRORED_LATENT], mirror_image)
    assert not torch.equal(tracker.h, alone.h)


def test_a_policy_reads_mirrored_groups_and_the_mirrored_latent():
    model = toy_model.build(equivariant=False)
    groups = {"command": SPACES.command, "privileged": SPACES.privileged}
    cfg = PolicyCfg(
        ("command", "latent"), ("privileged", "latent"), (16,), (16,), equivariant=False
    )
    policy = ActorCritic(cfg, {**groups, "latent": model.latent_layout}, SPACES.action.rep)
    obs = {name: torch.randn(N, layout.dim) for name, layout in groups.items()}
    h, twin = torch.randn(2, N, model.cfg.deter)
    policy.update_normalizers({**obs, "latent": h})
    mirrored_inputs = MirroredInputs(policy, groups, torch.device("cpu"), learn=False)
    got = mirrored_inputs({**obs, "latent": h, MIRRORED_LATENT: twin})
    mirrored = {name: groups[name].rep(x) for name, x in obs.items()}
    for x, y in zip(got, policy.inputs({**mirrored, "latent": twin}), strict=True):
        assert torch.equal(x, y)
