"""The world model learns from the replay, clips gradients correctly, and ignores bad data."""

import pytest
import torch

from swap.errors import UserError
from swap.learn import ModelCfg, ModelLearner, ReplayBuffer, gradient_step
from swap.learn.metrics import MetricAccumulator
from toy_model import build, latent, sequences

DEVICE = torch.device("cpu")


def learner(metrics: MetricAccumulator | None = None, **more) -> ModelLearner:
    """Twelve ticks of five worlds: white noise in half precision, which the replay holds
    exactly."""
    model = build()
    replay = ReplayBuffer(model, 5, 12, DEVICE)
    batch, _ = sequences(model, n=5, ticks=12, whole=True)
    for t in range(12):
        tick = {name: x[:, t] for name, x in batch._asdict().items() if name != "context"}
        replay.store(tick, latent(model, 5))
        replay.stored()
    cfg = ModelCfg(**{"batch": 4, "ticks": 6, "memory": 12, "warm_up": 1, "lr": 1e-3, **more})
    return ModelLearner(cfg, model, replay, metrics or MetricAccumulator(DEVICE), capture=False)


def weights(one: ModelLearner) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in one.model.named_parameters()}


def test_the_loss_falls():
    metrics = MetricAccumulator(DEVICE)
    one = learner(metrics, updates=35)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(3):
        one.update(generator)
        losses.append(metrics.read()["model/loss"])
    assert losses[-1] < 0.8 * losses[0]
    assert one.count == 105


def test_gradients_are_clipped_by_the_size_of_their_weights_and_the_rate_warms_up():
    one = learner(agc=1e-3, lr=0.01, warm_up=4)
    before = weights(one)
    worlds, starts, noise = one.draw(torch.Generator().manual_seed(1))
    batch = one.replay.take(worlds, starts, one.cfg.ticks)
    loss, _ = one.model.loss(batch, noise)
    gradients = torch.autograd.grad(loss, one.parameters)
    one.step(worlds, starts, noise)
    assert one.lr == pytest.approx(0.01 / 4)
    clipped = 0
    for (name, p), g in zip(one.model.named_parameters(), gradients, strict=True):
        limit = 1e-3 * before[name].norm().clamp(min=1e-3)
        clipped += bool(g.norm() > limit)
        want = 0.1 * g * (limit / g.norm()).clamp(max=1.0)  # a tenth is Adam's first average
        torch.testing.assert_close(one.adam.state[p]["exp_avg"], want, rtol=1e-4, atol=1e-9)
        moved = (p.detach() - before[name]).abs().max()
        assert moved <= 0.01 / 4 * 1.001, name
    assert clipped > len(gradients) / 2


def test_a_step_that_is_not_finite_changes_nothing_and_is_counted():
    one = learner()
    one.replay.data["body"].fill_(float("inf"))
    before = weights(one)
    one.update(torch.Generator().manual_seed(0))
    for name, x in weights(one).items():
        assert torch.equal(x, before[name]), name
    tried, skipped, loss, _ = one.faults.sums.tolist()
    assert tried == skipped == loss == one.cfg.updates


def test_without_sequences_nothing_happens():
    one = learner()
    one.replay.filled = 6
    before = weights(one)
    one.update(torch.Generator().manual_seed(0))
    assert all(torch.equal(x, before[name]) for name, x in weights(one).items())
    assert one.count == 0


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"memory": 32}, "use 33 or more"),
        ({"batch": 0}, "1 or more"),
        ({"agc": 0.0}, "more than 0"),
    ],
)
def test_what_makes_no_sense_is_refused(facts, says):
    with pytest.raises(UserError, match=says):
        ModelCfg(**facts)


def test_tensors_are_scaled_in_one_go():
    torch.manual_seed(0)
    tensors = [torch.randn(shape) for shape in ((3, 4), (), (5,), (2, 1, 6))]
    factors, sizes = torch.rand(4), torch.tensor([x.numel() for x in tensors])
    for ours, theirs in zip(
        gradient_step._scaled_in_one(tensors, factors, sizes),
        gradient_step.scaled(tensors, factors, sizes),
        strict=True,
    ):
        assert torch.equal(ours, theirs)
        assert ours.shape == theirs.shape
