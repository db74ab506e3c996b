"""Training the discriminator: textbook losses, guard, resume."""

import copy
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from swap.errors import UserError
from swap.learn import AMP, AMPCfg
from swap.learn.metrics import MetricAccumulator
from swap.learn.ring_buffer import RingBuffer
from swap.policy import style_reward
from swap.state_dict import copy_into
from toy_amp import CFG, FRAME, STEPS, N, chance, live, made, some


def test_it_learns_to_tell_two_sets_apart():
    amp, metrics = made()
    generator = chance()
    theirs, ours, every = some(500, 7), some(500, 8, 0.8), torch.ones(N, dtype=torch.bool)
    for k in range(60):  # 300 gradient steps
        live(amp, k)
        amp.update(generator)
        figures = metrics.read()
        if k == 0:
            first = figures
    assert figures["amp/loss"] < 0.6 * first["amp/loss"]
    assert figures["amp/expert"] > 0.3
    assert figures["amp/policy"] < -0.3
    score = [amp.net(amp.net.coordinates(x.flatten(1))) for x in (theirs, ours)]
    assert (score[0] > 0).float().mean() > 0.9
    assert (score[1] < 0).float().mean() > 0.9
    like, unlike = (amp.reward(x[:N], every).clone() for x in (theirs, ours))
    assert like.mean() > 2 * unlike.mean() > 0
    assert like.max() <= CFG.weight
    assert figures["guard/amp_skipped"] == 0


def test_losses_are_those_of_the_book():
    """The gradient of each single sample, with respect to the normalised entries."""
    amp, _ = made()
    live(amp, 0)
    amp.update(chance())
    expert, policy = some(20, 3).flatten(1), some(20, 4, 1.0).flatten(1)
    losses = amp.losses(amp.net.coordinates(expert), amp.net.coordinates(policy))

    def score(x):
        return amp.net.mlp.net(x).squeeze(-1)

    norm, slopes = amp.net.mlp.norm, []
    for row in norm(expert):
        row = row.clone().requires_grad_(True)
        score(row).backward()
        slopes.append(row.grad.norm() ** 2)
    theirs, ours = score(norm(expert)), score(norm(policy))
    penalty = torch.stack(slopes).mean()
    apart = 0.5 * (((theirs - 1) ** 2).mean() + ((ours + 1) ** 2).mean())
    assert penalty > 1e-4
    assert torch.allclose(losses["penalty"], penalty, rtol=1e-4)
    assert torch.allclose(losses["loss"], apart + 10 * penalty, rtol=1e-4)


def picks(amp):
    """Rows of the expert and of the ring for one step."""
    theirs = torch.randint(len(amp.expert), (amp.cfg.batch,), generator=chance())
    return theirs, amp.ring.pick(torch.rand(amp.cfg.batch, generator=chance()))


def test_a_step_is_adams_with_weight_decay():
    amp, _ = made()
    live(amp, 0)
    amp.update(chance())
    twin = copy.deepcopy(amp.net)
    head = {id(p) for p in twin.mlp.net.out.parameters()}
    groups = [[p for p in twin.parameters() if (id(p) in head) == flag] for flag in (False, True)]
    reference = torch.optim.Adam(
        [
            {"params": params, "weight_decay": decay}
            for params, decay in zip(groups, (CFG.decay, CFG.head_decay), strict=True)
        ],
        lr=CFG.lr,
    )
    for p, q in zip(twin.parameters(), amp.net.parameters(), strict=True):
        reference.state[p] = {key: x.clone() for key, x in amp.adam.state[q].items()}
    theirs, ours = picks(amp)
    amp.step(theirs, ours)
    expert = amp.expert[theirs].flatten(1)
    policy = amp.ring.rows[ours]
    for rows in (expert, policy):
        twin.mlp.norm.update(rows)
    other = copy.copy(amp)
    other.net = twin
    other.losses(twin.coordinates(expert), twin.coordinates(policy))["loss"].backward()
    reference.step()
    for p, q in zip(twin.parameters(), amp.net.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-6)


# --- what counts --------------------------------------------------------------------------------
def test_the_reward_is_zero_where_masked_and_what_the_score_says_elsewhere():
    amp, metrics = made()
    live(amp, 0)
    amp.update(chance())
    metrics.read()
    pair, mask = some(N, 9), torch.arange(N) % 2 == 0
    pair[0] = torch.nan
    pair[1] = torch.nan
    reward = amp.reward(pair, mask)
    score = amp.net(amp.net.coordinates(pair.flatten(1)))
    assert (reward[1::2] == 0).all()
    assert reward[0] == 0
    assert torch.equal(reward[2::2], CFG.weight * style_reward(score)[2::2].detach())
    assert not reward.requires_grad
    figures = metrics.read()
    assert figures["amp/counted"] == pytest.approx(15 / N)
    assert figures["amp/style"] == pytest.approx(float(reward.sum()) / CFG.weight / 15, rel=1e-5)


def test_without_data_nothing_is_learned_and_nothing_is_wrong():
    amp, metrics = made()
    before = [p.clone() for p in amp.parameters]
    for _ in range(STEPS):
        amp.store(some(N, 0), torch.zeros(N, dtype=torch.bool))
    amp.update(chance())
    assert all(torch.equal(a, b) for a, b in zip(before, amp.parameters, strict=True))
    assert amp.net.mlp.norm.count == 0
    figures = metrics.read()
    assert figures["guard/amp_skipped"] == 0
    assert "amp/loss" not in figures


def test_a_step_that_is_not_finite_changes_nothing_and_is_counted():
    amp, metrics = made()
    live(amp, 0)
    amp.update(chance())
    metrics.read()
    before = [x.clone() for name, x in amp.state_dict().items() if "norm" not in name]
    amp.net.mlp.norm.inverse_std.fill_(torch.nan)
    amp.net.mlp.norm.update = lambda *_: None
    amp.step(*picks(amp))
    after = [x for name, x in amp.state_dict().items() if "norm" not in name]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    figures = metrics.read()
    assert figures["guard/amp_skipped"] == figures["guard/amp_loss"] == 1


def test_nothing_but_sound_rows_that_are_asked_for_is_kept():
    amp, _ = made()
    for step in range(40):
        pair = torch.full((N, 2, 30), float(step))
        pair[:, 0, 0] = torch.arange(N)
        pair[5] = torch.nan
        amp.store(pair, torch.arange(N) % 4 == 1)
    kept = amp.ring.rows[: int(amp.ring.count)]
    worlds = {int(w) for w in kept[:, 0]}
    assert worlds == {w for w in range(N) if w % 4 == 1} - {5}


def test_a_few_worlds_of_every_step_reach_back_over_several_rollouts():
    amp, _ = made(replace(CFG, replay=64, span=4))  # 2 of 32 worlds a step
    for k in range(8):
        for step in range(STEPS):
            pair = torch.full((N, 2, 30), float(k * STEPS + step))
            amp.store(pair, torch.ones(N, dtype=torch.bool))
    assert amp.ring.rows[:, 0].min() == 4 * STEPS
    assert amp.ring.count == 64


# --- resume and mistakes ------------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1, 3])
def test_n_and_n_rollouts_are_2n_bit_for_bit(n):
    def go(amp, rollouts, generator):
        for k in rollouts:
            live(amp, k)
            amp.update(generator)

    straight, first, second = made()[0], made()[0], made(seed=9)[0]
    generator, before = chance(4), chance(4)
    go(straight, range(n + 3), generator)
    go(first, range(n), before)
    go(second, range(50, 51), chance(1))
    saved = {name: x.clone() for name, x in first.state_dict().items()}
    assert all(x.is_contiguous() for x in saved.values())
    copy_into(second.state_dict(), saved)
    go(second, range(n, n + 3), before)
    for name, x in straight.state_dict().items():
        assert torch.equal(x, second.state_dict()[name]), name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"batch": 0}, "amp.batch=0; use 1 or more"),
        ({"weight": -1.0}, "amp.weight=-1.0; use 0 or more"),
        ({"lr": 0.0}, "amp.lr=0.0; use more than 0"),
    ],
)
def test_mistakes_are_named(change, says):
    with pytest.raises(UserError, match=says):
        AMPCfg(**change)


def test_an_expert_of_another_width_is_refused():
    with pytest.raises(UserError, match=r"give \[M, 2, 30\]"):
        made(expert=torch.zeros(10, 60))
    with pytest.raises(UserError, match="use 1 to 4"):
        RingBuffer(8, 2, 4, 5, torch.device("cpu"))


# --- on a device --------------------------------------------------------------------------------
class Waits(TorchDispatchMode):
    """Records operations that would make the host wait for a GPU."""

    BAD = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal")

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1]
        by_mask = name in ("index", "index_put", "index_put_") and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if name in self.BAD or by_mask:
            self.seen.add(name)
        return func(*args, **(kwargs or {}))


def test_nothing_waits_for_the_device():
    amp, metrics = made()
    live(amp, 0)
    amp.update(chance())
    with Waits() as waits:
        live(amp, 1)
        amp.reward(some(N, 5), torch.arange(N) < 7)
        amp.update(chance())
    assert waits.seen == set()
    with waits:
        metrics.read()
        float(amp.ring.count)
    assert waits.seen  # it does detect waits


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_recordings_do_what_the_calls_do():
    every, both = torch.ones(N, dtype=torch.bool, device="cuda"), []
    for capture in (True, False):
        amp = AMP(
            CFG,
            some(300, 1).cuda(),
            FRAME,
            N,
            STEPS,
            MetricAccumulator(torch.device("cuda")),
            capture=capture,
        )
        generator = torch.Generator("cuda").manual_seed(0)
        for k in range(3):
            for step in range(STEPS):
                amp.store(some(N, 100 * k + step, 0.8).cuda(), every)
            amp.update(generator)
        for k in range(6):  # the last is a replay, with another input than the one before
            reward = amp.reward(some(N, k).cuda(), every)
        both.append((amp, reward.clone()))
    (recorded, ours), (called, theirs) = both
    assert recorded.step._graph is not None
    assert recorded.store._graph is not None
    assert recorded.reward._graph is not None
    assert torch.equal(recorded.ring.rows, called.ring.rows)
    assert torch.allclose(ours, theirs, atol=1e-5)
    for a, b in zip(recorded.parameters, called.parameters, strict=True):
        assert torch.allclose(a, b, atol=1e-4)
