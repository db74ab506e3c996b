"""New ground is rewarded as far as the command leads: once, even late, not for running ahead."""

from dataclasses import replace

import pytest
import torch

from swap.env import StartCfg
from swap.env.frame import AHEAD_M
from swap.sim import CONTROL_DT


@pytest.fixture
def walk(w):
    """Walks one robot along given x positions; returns the headway so far at each step, m."""
    env = w.small(n=1)
    env.reset()
    memory, state = env.frame_builder, env.engine.state
    everyone, start = torch.ones(1, dtype=torch.bool), float(state.base_pos[0, 0])

    def go(xs, command=1.0, course=True):
        memory.reset(everyone, state)
        total, out = 0.0, []
        for x in xs:
            pos = state.base_pos.clone()
            pos[0, 0] = start + x
            here = replace(state, base_pos=pos)
            asked = torch.tensor([[command, 0.0, 0.0]])
            f = memory.frame(
                here,
                env.heights,
                env.goals,
                asked,
                torch.zeros(1),
                torch.tensor([course]),
                torch.ones(1),
            )
            total += float(f.headway_mps) * CONTROL_DT
            out.append(total)
        return out

    go.memory, go.start = memory, start
    return go


def test_walking_as_told_pays_every_metre_once(walk):
    there = [0.02 * k for k in range(1, 51)]
    paid = walk([*there, *reversed(there), *there])
    assert paid[49] == pytest.approx(1.0, abs=1e-4)
    assert paid[-1] == pytest.approx(1.0, abs=1e-4)


def test_racing_ahead_pays_no_more_than_the_command(walk):
    paid = walk([0.06 * k for k in range(1, 101)])  # 3 m/s, asked for 1
    assert paid[-1] == pytest.approx(2.0 + AHEAD_M, abs=1e-3)


def test_time_lost_at_a_wall_is_made_up_by_climbing_it(walk):
    paid = walk([*[0.0] * 100, *[0.06 * k for k in range(1, 51)]])  # 2 s of nothing, then 3 m
    assert paid[99] == pytest.approx(0.0, abs=1e-6)
    assert paid[-1] == pytest.approx(3.0, abs=1e-3)


def test_worlds_without_a_goal_earn_none(walk):
    assert walk([0.02 * k for k in range(1, 51)], course=False)[-1] == 0.0


def test_nearer_starts_lie_between_the_usual_one_and_a_metre_before_the_obstacle(w):
    env = w.small(
        n=64, families=(("box", 1.0),), start=StartCfg(0, 0, 0, 0, 0, 0, 0, 0, run_up_skip=1.0)
    )
    env.reset()
    x, face = env.engine.state.base_pos[:, 0], env.goals.x
    share = x / (face - 1.0)
    assert share.min() >= 0
    assert share.max() < 1.03  # the edge is known to 5 cm
    assert share.std() > 0.2


def test_the_way_begins_where_the_robot_starts(walk):
    """Starts lie up to 1.6 m ahead; a robot that is late has come less than half as far as told."""
    walk([0.02 * k for k in range(51)])
    assert walk.start != 0
    assert float(walk.memory.way_m) == pytest.approx(1.0, abs=1e-5)
    assert float(walk.memory.best_x) == pytest.approx(walk.start + 1.0, abs=1e-5)
