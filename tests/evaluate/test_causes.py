"""Success by what was random, on draws whose outcome is known."""

import torch

from swap.evaluate.causes import RANDOM, causes, drawn_values
from swap.robots import load
from swap.sim.randomise import Ranges, draw, nominal

N = 2000
ROBOT = load("apollo")


def test_what_decides_comes_first_and_its_quarters_say_how():
    drawn = draw(Ranges(), ROBOT, N, torch.Generator().manual_seed(0))
    rows = causes(drawn_values(drawn), drawn.payload > drawn.payload.median())
    assert rows[0]["what"] == "payload, kg"
    parts = rows[0]["parts"]
    assert [part["success"] for part in parts] == [0.0, 0.0, 1.0, 1.0]
    assert [part["trials"] for part in parts] == [N // 4] * 4
    edges = [edge for part in parts for edge in (part["low"], part["high"])]
    assert edges == sorted(edges)
    assert edges[0] == drawn.payload.double().min().item()
    assert edges[-1] == drawn.payload.double().max().item()
    assert all(row["spread"] < 0.15 for row in rows[1:])
    assert {row["what"] for row in rows} == set(RANDOM)


def test_few_values_are_parts_of_their_own():
    drawn = draw(Ranges(), ROBOT, N, torch.Generator().manual_seed(0))
    rows = {row["what"]: row for row in causes(drawn_values(drawn), drawn.latency == 1)}
    slow, late = rows["latency, steps"]["parts"]
    assert (slow["low"], slow["high"], slow["success"]) == (0, 0, 0.0)
    assert (late["low"], late["high"], late["success"]) == (1, 1, 1.0)
    assert slow["trials"] + late["trials"] == N


def test_what_never_varies_is_left_out():
    drawn = nominal(ROBOT, 8)
    assert causes(drawn_values(drawn), torch.arange(8) > 3) == []
