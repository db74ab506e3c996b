"""Motion at an edge: made-up robots whose figures are known, and their mirror images."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tiny_swap
from swap.cli import main as cli
from swap.courses import make
from swap.env.terminations import EndReason
from swap.errors import UserError
from swap.evaluate.obstacle_motion import EdgeWatch, measure, near_edge
from swap.robots import load
from swap.symmetry import VECTOR

ROBOT = load("apollo")
LEGS = [leg.name for leg in ROBOT.legs]
EDGE, PAYLOAD = 3.0, 8.0


class World:
    """One robot on one course, whose state the test sets."""

    def __init__(self, course, reason=EndReason.SUCCESS, far_m=EDGE + 1.0):
        drawn = SimpleNamespace(payload=torch.tensor([PAYLOAD]))
        engine = SimpleNamespace(state=None, drawn=drawn)
        done = SimpleNamespace(
            success=torch.tensor([reason == EndReason.SUCCESS]),
            reason=torch.tensor([int(reason)]),
            far_m=torch.tensor([far_m]),
        )
        self.env = SimpleNamespace(
            n=1, device=torch.device("cpu"), robot=ROBOT, engine=engine, outcome=lambda: done
        )
        self.watch = EdgeWatch(self.env, [course])

    def step(
        self,
        x,
        load=(0, 0, 0, 0),
        vel=(1.0, 0, 0),
        roll=0.0,
        yaw=0.0,
        feet=None,
        runs=True,
        forward=(0, 0, 0, 0),
    ):
        """`load` and `forward`, N on each leg, upward and forward, half on its foot and half on
        its shank."""
        force = torch.zeros(1, 12, 3)
        force[0, :4, 2] = force[0, 8:12, 2] = torch.tensor(load, dtype=torch.float) / 2
        force[0, :4, 0] = force[0, 8:12, 0] = torch.tensor(forward, dtype=torch.float) / 2
        (cy, sy), (cr, sr) = ((math.cos(a / 2), math.sin(a / 2)) for a in (yaw, roll))
        turn = torch.tensor([[cy * cr, cy * sr, sy * sr, sy * cr]])  # first rolled, then turned
        feet = torch.tensor(feet or [[x, 0.0, 0.0]] * 4)[None]
        self.env.engine.state = SimpleNamespace(
            base_pos=torch.tensor([[x, 0.0, 0.6]]),
            base_quat=turn,
            base_lin_vel=torch.tensor([vel], dtype=torch.float),
            foot_pos=feet,
            foot_force=force[:, :4],
            thigh_force=force[:, 4:8],
            shank_force=force[:, 8:12],
        )
        self.watch.add(torch.tensor([runs]))

    def row(self):
        return self.watch.result().row()


def box():
    return replace(make("box", 0.4, np.random.default_rng(0)), goal_x=EDGE)


def by_leg(**loads):
    return [loads.get(name, 0) for name in LEGS]


def test_edges_are_where_obstacles_begin():
    assert near_edge(box()) == EDGE
    gap = make("gap", 0.4, np.random.default_rng(0))
    ground = make("gap", 0.4, np.random.default_rng(0)).pos[0, 0]
    assert near_edge(gap) == pytest.approx(gap.goal_x - gap.size)
    assert ground < near_edge(gap)


def test_only_what_happens_near_the_edge_counts():
    world = World(box())
    world.step(EDGE - 1.1, by_leg(FL=900))  # too early
    world.step(EDGE - 0.5, by_leg(FL=300, FR=100, RL=50, RR=50), roll=0.2, yaw=-0.1)
    world.step(EDGE + 0.2, by_leg(FL=300, FR=0, RL=30, RR=70), roll=-0.4, yaw=0.3)
    world.step(EDGE + 0.4, by_leg(), roll=0.0)  # on no leg
    world.step(EDGE + 0.6, by_leg(FR=900))  # too late
    world.step(EDGE, by_leg(FR=900), runs=False)  # over
    row = world.row()
    assert row["fore_bias"] == row["fore_index"] == pytest.approx((600 - 100) / 700)
    assert row["hind_bias"] == pytest.approx((80 - 120) / 200)
    assert row["hind_index"] == pytest.approx(0.2)
    assert row["one_foreleg"] == pytest.approx(1 / 2)
    assert row["roll_rms_deg"] == pytest.approx(math.degrees(math.sqrt((0.04 + 0.16) / 3)))
    assert row["yaw_rms_deg"] == pytest.approx(math.degrees(math.sqrt((0.01 + 0.09) / 3)))
    assert row["success"] == 1.0


def test_the_impulse_is_what_the_base_gained_before_the_hind_feet_left():
    world = World(box())
    behind = [[EDGE - 0.5, 0.2, 0.02]] * 4
    for k in range(40):  # it speeds up by 0.05 m/s a step, upward by 0.1
        world.step(EDGE - 0.3, by_leg(RL=400), vel=(0.05 * k, 0, 0.1 * k), feet=behind)
    high = [[EDGE - 0.03, 0.2, 0.5]] * 4  # now against the wall
    world.step(EDGE, by_leg(RL=400), vel=(9, 9, 9), feet=high)
    on_top = [[EDGE + 0.3, 0.2, 0.02]] * 4
    world.step(EDGE, by_leg(RL=400), vel=(9, 9, 9), feet=on_top)
    world.step(EDGE, by_leg(FL=400), vel=(9, 9, 9), feet=behind)  # a forefoot
    row, mass = world.row(), ROBOT.mass + PAYLOAD
    assert row["take_off_forward_ns"] == pytest.approx(mass * 20 * 0.05, rel=1e-5)
    assert row["take_off_up_ns"] == pytest.approx(mass * 20 * 0.1, rel=1e-5)


def test_each_pair_of_legs_is_measured_before_its_own_feet_leave():
    world = World(box())
    behind = [[EDGE - 0.5, 0.2, 0.02]] * 4
    ahead = {name: [EDGE + 0.3, 0.2, 0.5] if name[0] == "F" else behind[0] for name in LEGS}
    for k in range(30):  # 20 steps of 0.02 s count
        braking = by_leg(FL=-100, FR=-50, RL=-10)
        load = by_leg(FL=200, FR=100, RR=10 * (k >= 10))
        world.step(EDGE - 0.3, load, feet=behind, forward=braking)
    for _ in range(40):  # forefeet in the air: what touches them does not count
        load, forward = by_leg(RL=300, RR=100, FL=70), by_leg(RL=80, RR=40, FL=70)
        world.step(EDGE - 0.1, load, feet=[ahead[name] for name in LEGS], forward=forward)
    row = world.row()
    assert row["fore_forward_ns"] == pytest.approx(-150 * 0.4, rel=1e-5)
    assert row["fore_up_ns"] == pytest.approx(300 * 0.4, rel=1e-5)
    assert row["hind_forward_ns"] == pytest.approx(120 * 0.4, rel=1e-5)
    assert row["hind_up_ns"] == pytest.approx(400 * 0.4, rel=1e-5)


@pytest.mark.parametrize(
    ("reason", "far_m", "stalled"),
    [
        (EndReason.STALLED, EDGE - 0.4, True),
        (EndReason.TIME, EDGE + 0.1, True),  # paws on the edge
        (EndReason.STALLED, EDGE - 1.5, False),  # never came near
        (EndReason.STALLED, EDGE + 1.0, False),  # on top
        (EndReason.FALLEN, EDGE - 0.4, False),
    ],
)
def test_who_stands_still_near_the_edge_is_at_the_wall(reason, far_m, stalled):
    world = World(box(), reason, far_m)
    world.step(EDGE - 0.4, by_leg(RL=100, RR=100))
    row = world.row()
    assert row["stalled"] == float(stalled)
    assert row["success"] == 0.0
    assert (row["take_off_up_ns"] is None) == (far_m < EDGE)


def test_nothing_measured_is_told_as_none():
    row = World(box(), EndReason.FALLEN, 0.5).row()
    assert row["fore_index"] is None
    assert row["one_foreleg"] is None
    assert row["take_off_up_ns"] is None


def test_the_mirror_image_of_a_robot_has_the_opposite_bias_and_all_else_alike():
    rng, rows = np.random.default_rng(1), []
    steps = [
        (rng.uniform(-1, 0.5), rng.uniform(0, 300, 4), rng.normal(0, 0.1), rng.normal(0, 0.1))
        for _ in range(30)
    ]
    swap = [LEGS.index(name[0] + {"L": "R", "R": "L"}[name[1]]) for name in LEGS]
    for mirrored in (False, True):
        world = World(box())
        sign = -1 if mirrored else 1
        for x, carried, roll, yaw in steps:
            feet = [[EDGE - 0.3, 0.2 * sign, 0.02]] * 4
            loads = carried[swap] if mirrored else carried
            world.step(EDGE + x, loads.tolist(), roll=sign * roll, yaw=sign * yaw, feet=feet)
        rows.append(world.row())
    one, two = rows
    assert VECTOR(torch.ones(3)).tolist() == [1, -1, 1]
    for name in ("fore_bias", "hind_bias"):
        assert two[name] == pytest.approx(-one[name], rel=1e-5)
        assert abs(one[name]) > 1e-3
    same = [name for name in one if not name.endswith("bias")]
    assert {k: two[k] for k in same} == {k: pytest.approx(one[k], rel=1e-5) for k in same}


def test_a_family_without_an_edge_is_told_in_one_line():
    with pytest.raises(UserError, match="'rocks' has no edge to take off from; use box, gap"):
        next(measure(None, "rocks", [0.1], speeds_mps=[1.0], trials=1, device="cpu"))


def test_the_command_measures_sizes_of_one_family(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("swap.runs.trained_robot.load_trained", lambda path: tiny_swap.robot())
    file = tmp_path / "gait.json"
    words = ["gait", "swap", "--family", "gap", "--robots", "2", "--sizes", "0.2", "0.6"]
    assert cli.dispatch([*words, "--json", str(file)]) == 0
    assert "at the edge of a gap" in capsys.readouterr().out
    rows = json.loads(file.read_text())["rows"]
    assert [(row["family"], row["size"], row["command_mps"]) for row in rows] == [
        ("gap", 0.2, 1.0),
        ("gap", 0.6, 1.0),
    ]
    with pytest.raises(UserError, match="--family and --sizes go together"):
        cli.dispatch(["gait", "swap", "--family", "gap"])
