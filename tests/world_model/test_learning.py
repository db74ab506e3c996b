"""A small model learns a small world: a box before a wall, which actions push about.

The abad joints push it to a side, the knees bring it nearer; it stays in view. Depth, command and
height map all show where it is. Nothing in this world prefers a side.
"""

from functools import cache

import torch

from swap.world_model import Latent, Sequences
from toy_model import LAYOUTS, build, mirrored

TICKS, SEEN, K = 12, 5, 3
CODE = build().codec
SIZES = {
    "image": (16, 16),
    "k": K,
    "deter": 96,
    "variables": 8,
    "classes": 8,
    "hidden": 96,
    "channels": (8, 16),
    "prop_hidden": 32,
    "decoder_hidden": 64,
}
PROP = LAYOUTS[0]
LEFT = torch.linspace(7.5, -7.5, 16)
"""Columns, from the left: +y is left."""
ROWS, LANES = torch.linspace(-0.5, 2.0, 26), torch.linspace(0.5, -0.5, 11)


def world(n, seed):
    """`n` sequences of the moving box."""
    g = torch.Generator().manual_seed(seed)
    actions = torch.randn(n, TICKS, K, 12, generator=g)
    joints = actions.mean(2).unflatten(-1, (4, 3))  # [n, T, leg, joint]
    push = torch.stack((joints[..., 0].sum(-1) * 2.5, joints[..., 2].sum(-1) * 0.3), -1)
    place = torch.rand(n, 2, generator=g) * torch.tensor([8.0, 2.0]) + torch.tensor([-4.0, 0.8])
    low, high = torch.tensor([-5.0, 0.8]), torch.tensor([5.0, 2.8])
    track = []
    for t in range(TICKS):
        place = (place + push[:, t]).clamp(low, high)
        track.append(place)
    y, z = torch.stack(track, 1).unbind(-1)  # [n, T]: columns to the left, metres ahead
    covered = (3.5 - (LEFT - y[..., None]).abs()).clamp(0, 1)  # [n, T, 16]
    metres = 3.5 + (z[..., None] - 3.5) * covered
    image = metres[..., None, :].repeat(1, 1, 16, 1)
    image[..., :5, :] = 3.5  # the wall above the box
    clean = CODE.to_bytes(CODE.from_metres(image))
    noisy = CODE.to_bytes(CODE.from_metres(image + 0.05 * torch.randn(image.shape, generator=g)))
    prop = torch.zeros(n, TICKS, 33)
    prop[..., PROP["command"]] = torch.stack((z - 1.8, y / 5, torch.zeros_like(y)), -1)
    ahead = torch.exp(-((ROWS - z[..., None] / 2).square()) / 0.1)
    aside = torch.exp(-((LANES - y[..., None] / 10).square()) / 0.05)
    body = (ahead[..., :, None] * aside[..., None, :]).flatten(-2) - 0.5
    first = torch.zeros(n, TICKS, dtype=torch.bool)
    first[:, 0] = True
    valid, foot = torch.ones_like(first), torch.zeros(n, TICKS, 100)
    context = Latent(torch.zeros(n, 96), torch.zeros(n, 64))
    return Sequences(noisy, clean, prop, actions, body, foot, first, valid, context)


@cache
def learned():
    """A model after 150 gradient steps on 192 sequences, and the figures of each step."""
    model, data = build(**SIZES), world(192, seed=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    g, history = torch.Generator().manual_seed(2), []
    for _ in range(150):
        rows = torch.randperm(192, generator=g)[:16]
        batch = Sequences(*(x[rows] for x in data[:-1]), Latent(*(x[rows] for x in data.context)))
        noise = model.noise(16, TICKS, like=batch.prop, generator=g)
        loss, figures = model.loss(batch, noise)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimiser.step()
        history.append({name: float(x) for name, x in figures.items()})
    return model, history


def mean(history, name, where):
    return sum(figures[name] for figures in history[where]) / len(history[where])


def test_reconstruction_and_kl_fall():
    _, history = learned()
    start, end = slice(0, 5), slice(-30, None)
    for name, share in (("depth", 0.1), ("body", 0.1), ("prop", 0.1), ("foot", 0.02), ("kl", 0.7)):
        assert mean(history, name, end) < share * mean(history, name, start), name


def foretold(model, data):
    """The decoded predictions of 7 ticks after 5 observed ones."""
    with torch.no_grad():
        seen = model.observe(data, None).latent
        last = seen.map(lambda x: x[:, SEEN - 1])
        return model.decode(model.imagine(last, data.actions[:, SEEN:], None))


def test_what_it_foretells_is_better_than_the_last_image():
    """On unseen sequences, at every horizon, for depth and heights."""
    model, data = learned()[0], world(64, seed=7)
    guess, depth = foretold(model, data), CODE.from_bytes(data.depth_clean)
    for told, truth in ((guess.depth.flatten(2), depth.flatten(2)), (guess.body, data.body)):
        error = (told - truth[:, SEEN:]).square().mean((0, 2))
        copied = (truth[:, SEEN - 1 : SEEN] - truth[:, SEEN:]).square().mean((0, 2))
        assert (error < 0.85 * copied).all(), error / copied
        assert error.sum() < 0.6 * copied.sum()


def test_the_actions_are_what_it_foretells_from():
    model, data = learned()[0], world(64, seed=7)
    depth = CODE.from_bytes(data.depth_clean)[:, SEEN:]
    deaf = foretold(model, data._replace(actions=torch.zeros_like(data.actions)))
    error, without = ((x.depth - depth).square().mean() for x in (foretold(model, data), deaf))
    assert error < 0.6 * without


def test_and_it_knows_the_mirrored_world_as_well():
    model, data = learned()[0], world(16, seed=9)
    there = foretold(model, mirrored(model, data))
    assert torch.equal(there.depth, foretold(model, data).depth.flip(-1))
