"""Sequences, ticks and imagination take the same step; an episode begins without a latent."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from swap.errors import UserError
from swap.policy import ActorCritic, PolicyCfg
from swap.world_model import Latent, WorldModelCfg
from toy_model import ACTION, SPACES, build, latent, sequences


def close(a, b):
    return all(torch.allclose(x, y, atol=1e-5) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("equivariant", [True, False])
def test_a_sequence_is_tick_after_tick(equivariant):
    model = build(equivariant=equivariant)
    batch, noise = sequences(model, 3, 7)
    batch = batch._replace(valid=torch.ones_like(batch.valid))
    assert batch.first[:, 1:].any()
    followed = model.observe(batch, noise)
    state = batch.context
    for t in range(7):
        depth = model.codec.from_bytes(batch.depth_noisy[:, t])
        embedding = model.embed(depth, batch.prop[:, t])
        state = model.tick(state, batch.actions[:, t], embedding, batch.first[:, t], noise[:, t])
        assert close(state, (x[:, t] for x in followed.latent))


@pytest.mark.parametrize("equivariant", [True, False])
def test_a_daydream_is_step_after_step(equivariant):
    model = build(equivariant=equivariant)
    batch, noise = sequences(model, 3, 5)
    state, dream = batch.context, model.imagine(batch.context, batch.actions, noise)
    for t in range(5):
        state = model.predict(state, batch.actions[:, t], noise[:, t])
        assert close(state, (x[:, t] for x in dream))
    assert not close(dream, model.imagine(batch.context, batch.actions, None))


def test_first_inside_a_sequence_is_a_new_start():
    model = build()
    batch, noise = sequences(model, 3, 6, whole=True)
    first = batch.first.clone()
    first[:, 3] = True
    whole = model.observe(batch._replace(first=first), noise).latent
    tail = [x if isinstance(x, Latent) else x[:, 3:] for x in batch._replace(first=first)]
    for context in (model.initial(3, "cpu"), latent(model, 3)):  # with first, none of it counts
        tail[-1] = context
        anew = model.observe(type(batch)(*tail), noise[:, 3:]).latent
        assert close(anew, (x[:, 3:] for x in whole))
    through = model.observe(batch, noise).latent
    assert not close((x[:, 3:] for x in through), (x[:, 3:] for x in whole))


def test_a_first_tick_is_blind_to_what_was_nan_included():
    model = build()
    embedding, noise = torch.randn(2, model.encoder.rep.dim), None
    first, actions = torch.ones(2, dtype=torch.bool), torch.zeros(2, 3, 12)
    clean = model.tick(model.initial(2, "cpu"), actions, embedding, first, noise)
    stale = clean.map(lambda x: torch.full_like(x, torch.nan))
    assert close(model.tick(stale, actions + torch.nan, embedding, first, noise), clean)


def test_without_noise_the_likeliest():
    model = build()
    followed = model.observe(sequences(model)[0], None)
    z = followed.latent.z.unflatten(-1, (6, 5))
    assert torch.equal(z.argmax(-1), followed.posterior.unflatten(-1, (6, 5)).argmax(-1))


def test_actions_beyond_the_motors_are_not_heard():
    model, state = build(), latent(build(), 2)
    actions = torch.full((2, 3, 12), 6.0)
    most, more, less = (
        model.predict(state, x, None).h for x in (actions, 9 * actions, actions / 2)
    )
    assert torch.equal(most, more)
    assert not torch.equal(most, less)


def test_absolute_depth_reaches_the_embedding():
    """Norms remove the scale of their input, but walls at two depths must not look alike."""
    model = build()
    near, far = (torch.full((1, 16, 16), x) for x in (0.1, 0.4))
    a, b = (model.encoder.image(x.unsqueeze(1)) for x in (near, far))
    assert (a - b).square().mean() > 0.01 * a.square().mean()


class Waits(TorchDispatchMode):
    """Records operations that would make the host wait for a GPU or cannot be in a CUDA graph."""

    BAD = ("_local_scalar_dense", "nonzero", "masked_select", "lift_fresh", "equal")

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1]
        if name in self.BAD:
            self.seen.add(name)
        return func(*args, **(kwargs or {}))


def test_a_training_step_never_waits_for_the_device():
    model = build()
    batch, noise = sequences(model)
    parameters = list(model.parameters())
    torch.autograd.grad(model.loss(batch, noise)[0], parameters)
    with Waits() as waits:
        torch.autograd.grad(model.loss(batch, noise)[0], parameters)
    assert waits.seen == set()
    with waits:
        float(noise.sum())
    assert waits.seen


# --- sizes --------------------------------------------------------------------------------------
DISCRIMINATOR = 60 * 512 + 512 * 256 + 256 + 512 + 256 + 1
"""Parameters of a plain network of [512, 256], which is larger than ours."""


@pytest.mark.parametrize(("equivariant", "most"), [(True, 2.6e6), (False, 5.3e6)])
def test_the_robot_can_carry_it(equivariant, most):
    """World model, policy and discriminator together stay below 7 M in every arm."""
    model = build(full=True, equivariant=equivariant)
    mine = sum(model.n_parameters.values())
    assert mine == sum(p.numel() for p in model.parameters()) < most
    groups = {
        "history": SPACES.actor_history,
        "command": SPACES.command,
        "privileged": SPACES.privileged,
        "latent": model.latent_layout,
    }
    cfg = PolicyCfg(
        actor_reads=("history", "command", "latent"),
        critic_reads=("privileged", "latent"),
        equivariant=equivariant,
    )
    policy = ActorCritic(cfg, groups, ACTION)
    assert mine + sum(policy.n_parameters.values()) + DISCRIMINATOR < 7e6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"deter": 511}, "deter=511 is odd; mirrored features come in pairs, use 512"),
        ({"decoder_hidden": 0}, "decoder_hidden=0 is not positive"),
        ({"depth_bend": 0.0}, "depth_bend=0.0; use more than 0"),
        ({"variables": 7}, "variables=7 is odd"),
        ({"image": (60, 64)}, "does not halve 4 times"),
    ],
)
def test_mistakes_are_named(wrong, message):
    with pytest.raises(UserError, match=message):
        build(full=True, **wrong)


def test_the_defaults_are_the_designs():
    cfg = WorldModelCfg()
    assert (cfg.deter, cfg.variables, cfg.classes, cfg.unimix) == (512, 32, 32, 0.01)
    assert (cfg.loss.dyn, cfg.loss.rep, cfg.loss.free_nats, cfg.update_bias) == (
        1.0,
        0.1,
        1.0,
        -1.0,
    )
