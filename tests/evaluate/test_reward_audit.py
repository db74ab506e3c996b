"""Rewards are tried in mirrored worlds before anybody trains with them."""

import sys
from pathlib import Path

import pytest

from swap import registry
from swap.cli import main as cli
from swap.env import REWARDS
from swap.errors import UserError
from swap.evaluate.reward_audit import check_rewards

CODE = """
def calm(frame):
    return frame.ang_vel_b.square().sum(1)


def one_leg(frame):
    return frame.foot_force[:, 0, 2]


def infinite(frame):
    return frame.ang_vel_b[:, 0] / 0


def wrong(frame):
    return frame.no_such
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CODE)
    yield tmp_path
    registry.forget()
    sys.modules.pop("mine", None)


def test_every_term_of_this_project_is_the_same_in_the_mirror():
    rows = list(check_rewards(list(REWARDS)))
    assert [row["term"] for row in rows] == list(REWARDS)
    assert all(row["pass"] in (True, None) for row in rows), rows
    assert sum(row["pass"] is True for row in rows) > 15


def test_a_reward_that_prefers_a_side_is_told(here, capsys):
    assert cli.dispatch(["rewards", "--term", "mine.py:calm"]) == 0
    assert cli.dispatch(["rewards", "--term", "mine.py:calm", "mine.py:one_leg"]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    told = {line[1]: line[-2] for line in lines if line[1:2] in (["calm"], ["one_leg"])}
    assert told == {"calm": "yes", "one_leg": "no"}
    assert cli.dispatch(["rewards", "--term", "mine.py:infinite"]) == 1
    with pytest.raises(UserError, match=r"mine.py, line \d+: AttributeError: .*no_such"):
        cli.dispatch(["rewards", "--term", "mine.py:wrong"])
