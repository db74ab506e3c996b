"""Tests the first lines of Python that a new user would write."""

import pytest
import torch

import swap
from swap.env import ParkourEnv
from swap.env.trials import Trials
from swap.errors import UserError
from swap.presets import PRESETS
from toy_preset import ToyCfg


def drive(robot, env):
    agent, obs = robot.agent_for(env), env.reset()
    while not env.finished:
        obs = env.step(agent.act(obs)).obs
    return env.outcome()


def test_a_robot_by_its_name_passes_boxes_and_an_untrained_one_does_not():
    robot = swap.load("teacher")
    env = swap.make_env(robot, 4, family="box", size=0.5, device="cpu")
    assert isinstance(env, Trials)
    won = drive(robot, env)
    assert won.success.all()
    assert (won.far_m > 2).all()
    from swap.runs.trained_robot import untrained

    assert not drive(untrained("teacher"), env).success.any()


def test_without_a_family_it_is_the_environment_of_training():
    env = swap.make_env("tiny", worlds=3, device="cpu")
    assert isinstance(env, ParkourEnv)
    assert not isinstance(env, Trials)
    obs = env.reset()
    assert obs["history"].shape == (3, env.groups["history"].dim)
    step = env.step(torch.zeros(3, 12))
    assert step.reward.shape == (3,)
    assert env.cfg == swap.make_env(env.cfg, device="cpu").cfg


@pytest.mark.parametrize(
    ("of", "options", "says"),
    [
        ("nope", {}, "unknown preset 'nope'"),
        ("toy", {}, "has no environment"),
        ("tiny", {"family": "wall"}, "wall"),
        ("tiny", {"family": "box", "size": 9.0}, "comes in"),
        ("tiny", {"family": "box", "size": 0.3, "speed_mps": 0.0}, "leads to no goal"),
        ("tiny", {"size": 0.3}, "name its family"),
        ("tiny", {"speed_mps": 2.0}, "name its family"),
        (3, {}, "3 is no robot; give one of swap.load"),
    ],
)
def test_mistakes_are_one_line(of, options, says, monkeypatch):
    monkeypatch.setitem(PRESETS.added, "toy", ToyCfg())
    with pytest.raises(UserError, match=says):
        swap.make_env(of, device="cpu", **options)


@pytest.mark.parametrize("action", [torch.zeros(12), torch.zeros(3, 12), [[0.0] * 12] * 2])
def test_actions_have_a_row_for_each_world(action):
    env = swap.make_env("tiny", worlds=2, device="cpu")
    env.reset()
    with pytest.raises(UserError, match=r"pass a tensor \[2, 12\]"):
        env.step(action)


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        swap.lode  # noqa: B018
