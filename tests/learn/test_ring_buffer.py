"""The ring buffer holds the latest rows that were asked for, and picks among them evenly."""

import torch

from swap.learn.ring_buffer import RingBuffer


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_ring_is_a_list_that_forgets():
    """Against a plain Python list, over many steps with random masks."""
    size, n, per_step = 23, 10, 4
    ring = RingBuffer(size, 2, n, per_step, torch.device("cpu"))
    listed, turn = [], 0
    generator = chance(3)
    for step in range(60):
        rows = torch.stack([torch.full((n,), float(step)), torch.arange(n).float()], 1)
        keep = torch.rand(n, generator=generator) < 0.6
        ring.store(rows, keep)
        for k in range(per_step):
            world = (turn + k) % n
            if keep[world]:
                listed.append((step, world))
        turn = (turn + per_step) % n
        latest = listed[-size:]
        assert int(ring.count) == len(latest)
        found = {tuple(map(int, row)) for row in ring.rows[: len(latest)]}
        assert found == set(latest)
    picks = ring.pick(torch.rand(5000, generator=generator))
    assert (picks.bincount(minlength=size) > 120).all()
    assert ring.pick(torch.tensor([0.0, 1 - 2**-24])).tolist() == [0, size - 1]


def test_picks_stay_within_what_is_there():
    ring = RingBuffer(100, 2, 4, 4, torch.device("cpu"))
    assert ring.pick(torch.rand(50)).tolist() == [0] * 50
    ring.store(torch.ones(4, 2), torch.tensor([True, False, True, True]))
    assert set(ring.pick(torch.rand(200)).tolist()) == {0, 1, 2}
