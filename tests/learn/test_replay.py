"""The replay returns what was stored, in order, from every place, with the latent before it."""

import pytest
import torch
from torch.nn.functional import one_hot

from swap.errors import UserError
from swap.learn import ReplayBuffer
from swap.world_model import Latent
from toy_model import build

WORLDS, TICKS, LENGTH = 3, 8, 4


def number(t: int, *shape: int) -> torch.Tensor:
    """Tick t of every world, as values that identify both: 10 t + world."""
    value = 10.0 * t + torch.arange(WORLDS)
    return value.view(-1, *[1] * len(shape)).expand(WORLDS, *shape)


def filled(count: int) -> ReplayBuffer:
    model = build()
    cfg = model.cfg
    replay = ReplayBuffer(model, WORLDS, TICKS, torch.device("cpu"))
    for t in range(count):
        classes = torch.arange(cfg.variables).add(t).remainder(cfg.classes).expand(WORLDS, -1)
        tick = {
            "depth_noisy": number(t, *model.image).to(torch.uint8),
            "depth_clean": number(t, *model.image).to(torch.uint8) + 1,
            "prop": number(t, model.prop.dim),
            "actions": number(t, model.k, model.action.dim),
            "body": number(t, model.body.dim),
            "foot": number(t, model.foot.dim),
            "first": number(t) == 51,  # tick 5 of world 1
            "valid": number(t) != 62,  # all but tick 6 of world 2
        }
        latent = Latent(number(t, cfg.deter), one_hot(classes, cfg.classes).float().flatten(1))
        replay.store(tick, latent)
        replay.stored()
    return replay


@pytest.mark.parametrize("count", [5, 7, 8, 9, 12, 21])
def test_sequences_are_successive_ticks_of_one_world_from_every_place_but_the_oldest(count):
    replay = filled(count)
    places = replay.starts(LENGTH)
    oldest = max(0, count - TICKS)
    assert places == min(count, TICKS) - LENGTH
    chance = (torch.arange(places) + 0.5) / places
    starts = replay.pick(chance, LENGTH)
    for world in range(WORLDS):
        got = replay.take(torch.full((places,), world), starts, LENGTH)
        ticks = oldest + 1 + torch.arange(places)[:, None] + torch.arange(LENGTH)
        assert torch.equal(got.prop[..., 0], 10.0 * ticks + world)
        assert torch.equal(got.actions[..., -1, -1], 10.0 * ticks + world)
        assert torch.equal(got.body[..., -1], got.foot[..., 0])
        assert torch.equal(got.depth_noisy[..., 3, 5], (10 * ticks + world).to(torch.uint8))
        assert torch.equal(got.depth_clean, got.depth_noisy + 1)
        assert torch.equal(got.first, (ticks == 5) & (world == 1))
        assert torch.equal(got.valid, (ticks != 6) | (world != 2))
        assert torch.equal(got.context.h[:, 0], 10.0 * (ticks[:, 0] - 1) + world)
        variables = got.context.z.unflatten(1, (-1, 5)).argmax(-1)
        assert torch.equal(variables, (torch.arange(6) + ticks[:, :1] - 1) % 5)


def test_chances_fall_evenly_on_the_places():
    replay = filled(20)
    starts = replay.pick(torch.linspace(0, 1 - 1e-6, 4000), LENGTH)
    assert torch.equal(torch.bincount(starts - 1), torch.full((TICKS - LENGTH,), 1000))


def test_too_few_ticks_hold_no_sequence():
    replay = filled(LENGTH)
    assert replay.starts(LENGTH) == 0
    with pytest.raises(UserError, match="hold no sequence"):
        replay.pick(torch.zeros(1), LENGTH)


def test_a_large_replay_is_no_part_of_a_checkpoint(monkeypatch):
    replay = filled(9)
    assert set(replay.state_dict()) == {*replay.data, "slot", "filled"}
    assert replay.state_dict()["filled"] == TICKS
    monkeypatch.setattr("swap.learn.replay.SMALL", 100)
    assert replay.state_dict() == {}
    replay.clear()
    assert replay.starts(LENGTH) == 0
