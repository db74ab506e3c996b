"""Every reward term equals numbers computed by hand."""

import math

import pytest
import torch

from paper_table import TABLE
from swap.cli import main as cli
from swap.env import REWARDS, RewardCfg
from swap.env.reward_presets import WEIGHTS
from swap.env.rewards import Rewards
from swap.errors import UserError

CASES = [
    # |(1, .5) - (.7, .1)|² = .09 + .16; vertical velocity does not count
    ("lin_vel_tracking", {"command": [1.0, 0.5, 0], "lin_vel_b": [0.7, 0.1, 9]}, 0.25 / 0.15, 0),
    ("ang_vel_tracking", {"command": [9, 9, 0.5], "ang_vel_b": [9, 9, -0.1]}, 0.36 / 0.15, 0),
    # roll = asin .3, and a base 5 cm too low
    (
        "static_stance",
        {"height_error_m": -0.05, "gravity_b": [0, 0.3, -0.954]},
        0.5 + math.asin(0.3) / 0.1,
        0,
    ),
]
EXACT = [
    ("lin_vel_tracking_course", {"command": [1.0, 0.5, 0], "lin_vel_b": [1.0, 0.5, 9]}, 1.0),
    # too slow by .3 counts in full everywhere, too fast by 1.2 a quarter near obstacles
    (
        "lin_vel_tracking_course",
        {"command": [1.0, 0, 0], "lin_vel_b": [0.7, 0, 0], "flat_ahead": False},
        math.exp(-0.09 / 0.15),
    ),
    (
        "lin_vel_tracking_course",
        {"command": [0.5, 0, 0], "lin_vel_b": [1.7, 0.1, 0], "flat_ahead": False},
        math.exp(-(0.3**2 + 0.1**2) / 0.15),
    ),
    (
        "lin_vel_tracking_course",
        {"command": [0.5, 0, 0], "lin_vel_b": [1.1, 0, 0]},
        math.exp(-0.36 / 0.15),
    ),
    (
        "lin_vel_tracking_course",
        {"command": [0.0, 0, 0], "lin_vel_b": [0.6, 0, 0], "flat_ahead": False},
        math.exp(-0.36 / 0.15),
    ),
    ("foot_slip", {"slip_mps": [0.1, 0, 0.3, 0]}, 0.4),
    ("foot_slip", {"slip_mps": [0.1, 0, 0.3, 0], "flat": False}, 0.0),
    # one foot was lifted by 4 of 10 cm, one high enough, one is still in the air
    ("foot_swing", {"swing_m": [0.04, 0.12, 0.02, 0], "landed": [1, 1, 0, 0]}, 0.6),
    ("foot_swing", {"swing_m": 0.04, "landed": 1, "flat": False}, 0.0),
    ("footfalls", {"landed": [1, 1, 0, 0]}, 2.0),
    ("footfalls", {"landed": [1, 1, 0, 0], "flat": False}, 0.0),
    # the term is off at the lowest level, and counts in part a tenth of the way up
    ("footfalls", {"landed": [1, 1, 0, 0], "progress": 0.0}, 0.0),
    ("footfalls", {"landed": [1, 1, 0, 0], "progress": 0.1}, 0.4),
    ("foot_slip", {"slip_mps": [0.1, 0, 0.3, 0], "progress": 0.0}, 0.0),
    ("foot_swing", {"swing_m": 0.0, "landed": 1, "progress": 0.0}, 0.0),
    ("static_stance", {"command": [0.2, 0, 0]}, 0.0),
    ("static_stance", {"foot_contact": [True, True, True, False]}, 0.0),
    ("body_height", {"height_error_m": -0.2}, 0.04),
    ("vertical_vel", {"lin_vel_b": [5, 5, -0.3]}, 0.09),
    ("xy_ang_vel", {"ang_vel_b": [1.0, -2.0, 7]}, 5.0),
    (
        "orientation",
        {"gravity_b": [math.sin(0.4), math.sin(-0.3), -0.8]},
        0.4**2 + 0.3**2,
    ),
    ("collision", {"leg_contact": [1, 0, 0, 1, 0, 0, 0, 1]}, 3.0),
    ("feet_air_time", {"landed": [1, 0, 1, 0], "air_s": [0.7, 9, 0.2, 9]}, 0.2 - 0.3),
    (
        "feet_stumble",
        {"foot_force": [[3, 4, 1.2], [3, 4, -1.3], [0, 0, 0], [0, 5, 0]]},
        2.0,  # 5 > 4.8, 5 < 5.2, 0 = 0, 5 > 0
    ),
    ("abad_angle", {"abad_pos": [0.1, -0.2, 0, 0.3]}, 0.14),
    ("torque", {"torque": 2.0}, 48.0),
    ("joint_acc", {"joint_acc": -3.0}, 108.0),
    ("power", {"torque": -2.0, "joint_vel": 3.0}, 72.0),
    ("action_rate", {"action": 1.0, "last_action": 0.5}, 3.0),
    ("smoothness", {"action": 1.0, "last_action": 0.5, "older_action": 1.0}, 12.0),
    ("stuck", {"command": [0.5, 0, 0], "lin_vel_b": [0.05, 3, 0]}, 1.0),
    ("stuck", {"command": [0.5, 0, 0], "lin_vel_b": [-0.2, 0, 0]}, 1.0),
    ("stuck", {"command": [0.5, 0, 0], "lin_vel_b": [0.2, 0, 0]}, 0.0),
    ("stuck", {"command": [0.1, 0, 0]}, 0.0),
    ("astray", {"heading_error_rad": -1.1}, 1.0),
    ("astray", {"heading_error_rad": 0.9}, 0.0),
    ("astray", {"heading_error_rad": 3.0, "has_goal": False}, 0.0),
    ("headway", {"headway_mps": 1.25}, 1.25),
    ("body_height_flat", {"height_error_m": 0.1}, 0.01),
    ("body_height_flat", {"height_error_m": 0.1, "flat": False}, 0.0),
    ("vertical_vel_flat", {"lin_vel_b": [0, 0, 2], "flat": True}, 4.0),
    ("vertical_vel_flat", {"lin_vel_b": [0, 0, 2], "flat": False}, 0.0),
    ("orientation_flat", {"gravity_b": [0, 0.5, -0.866], "flat": False}, 0.0),
    ("orientation_flat", {"gravity_b": [0, math.sin(0.5), -0.866]}, 0.25),
]
EXACT += [(name, values, math.exp(-x)) for name, values, x, _ in CASES]


@pytest.mark.parametrize(("name", "values", "wanted"), EXACT)
def test_a_term_is_what_its_equation_says(name, values, wanted, w):
    found = REWARDS[name].function(w.frame(2, **values))
    assert found.shape == (2,)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.full((2,), wanted), atol=1e-5, rtol=1e-5)


def test_every_term_has_a_case():
    assert set(REWARDS) == {name for name, *_ in EXACT}


def test_the_paper_preset_is_the_paper():
    weights = WEIGHTS["paper"]
    assert {name: weights[name] for name in REWARDS if REWARDS[name].origin == "paper"} == TABLE
    assert WEIGHTS["paper-table"] == TABLE  # and nothing else


def test_the_sum_is_weighted_times_dt_and_never_negative(w):
    rewards = Rewards("none", {"headway": 2.0, "torque": -0.5}, torch.device("cpu"))
    assert rewards.names == ("torque", "headway")
    torque = torch.tensor([[1.0], [0.0]]).expand(2, 12)
    total, terms = rewards(w.frame(2, torque=torque, headway_mps=[1.0, 1.5]))
    torch.testing.assert_close(terms, torch.tensor([[-6.0, 0.0], [2.0, 3.0]]) * 0.02)
    torch.testing.assert_close(total, torch.tensor([0.0, 0.06]))


def test_a_sum_below_zero_counts_where_it_is_told_to(w):
    terms = {"headway": 2.0, "torque": -0.5}
    rewards = Rewards("none", terms, torch.device("cpu"), only_positive=False)
    total, _ = rewards(w.frame(1, torque=torch.ones(1, 12), headway_mps=[1.0]))
    torch.testing.assert_close(total, torch.tensor([-4.0 * 0.02]))


def test_weights_can_be_replaced_by_name_and_a_wrong_name_is_told():
    rewards = Rewards("paper", {"torque": -1.0, "headway": 2.0, "stuck": 0.0}, torch.device("cpu"))
    changed = {**WEIGHTS["paper"], "torque": -1.0, "headway": 2.0}
    del changed["stuck"]
    assert rewards.names == tuple(name for name in REWARDS if name in changed)  # in table order
    wanted = torch.tensor([changed[name] * 0.02 for name in rewards.names])
    assert torch.equal(rewards._weights[:, 0], wanted)
    with pytest.raises(UserError, match="did you mean 'torque'"):
        RewardCfg(terms=(("torqe", 1.0),))
    with pytest.raises(UserError, match=r"rewards.terms gives no term a weight"):
        RewardCfg("none", (("torque", 0.0),))
    assert RewardCfg(terms=(("mine.py:calm", 1.0),)).terms  # code may never be needed


def test_presets_of_rewards_name_terms_that_there_are_and_tiny_is_teacher_without_its_gait():
    for weights in WEIGHTS.values():
        assert set(weights) <= set(REWARDS)
        assert 0.0 not in weights.values()
    gait = {"foot_slip", "foot_swing", "footfalls"}
    assert {**WEIGHTS["tiny"], **{name: WEIGHTS["teacher"][name] for name in gait}} == WEIGHTS[
        "teacher"
    ]
    assert not gait & set(WEIGHTS["tiny"])


def test_swap_rewards_prints_every_row(capsys):
    assert cli.dispatch(["rewards"]) == 0
    shown = capsys.readouterr().out
    for row in REWARDS.values():
        assert row.name in shown
        assert row.equation in shown
