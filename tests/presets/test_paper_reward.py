"""These presets pay the paper's reward and nothing else: the reward is computed again and
compared."""

from dataclasses import replace

import pytest
import torch

from paper_table import TABLE
from swap.env import REWARDS, EndReason
from swap.presets import PRESETS
from swap.presets.paper_reward import PAPER_REWARD
from swap.presets.swap import ARMS
from swap.runs import to_json
from swap.runs.config import changes


@pytest.mark.parametrize("name", PAPER_REWARD)
def test_they_differ_from_their_arm_in_the_reward_alone(name):
    assert list(PAPER_REWARD) == [f"{arm}-paper-reward" for arm in ARMS]
    assert PRESETS[name] is PAPER_REWARD[name]
    arm = ARMS[name.removesuffix("-paper-reward")]
    assert changes(to_json(arm), to_json(PRESETS[name])) == [
        "env.rewards.preset teacher -> paper-table",
        "env.rewards.only_positive True -> False",
        "env.terminations.stall_s 2.0 -> None",
    ]


def test_a_step_pays_the_weighted_table_however_little_that_is():
    cfg = PRESETS["swap-paper-reward"]
    env_cfg = replace(cfg.env, families=(("box", 1.0),), levels=2, variants=1)
    env = replace(cfg, worlds=4, engine="cpu", env=env_cfg).make_env("cpu")
    frames, pay = [], env.rewards.__call__

    def watched(frame):
        frames.append({name: REWARDS[name].function(frame).clone() for name in TABLE})
        return pay(frame)

    env.rewards = watched
    env.reset()
    torch.manual_seed(0)
    seen = []
    for _ in range(30):
        step = env.step(3.0 * torch.randn(4, 12))
        wanted = 0.02 * sum(weight * frames[-1][name] for name, weight in TABLE.items())
        torch.testing.assert_close(step.reward, wanted * step.valid, rtol=1e-5, atol=1e-6)
        seen.append(step.reward.clone())
    assert torch.stack(seen).min() < -0.1  # a robot that thrashes about loses


def test_a_robot_that_stands_still_is_left_alone():
    cfg = PRESETS["swap-paper-reward"]
    ends = {}
    for name, waits in (("swap-paper-reward", True), ("swap", False)):
        box = replace(PRESETS[name].env, families=(("box", 1.0),), levels=2, variants=1)
        calm = replace(box.random, push_every_s=0.0)
        env = replace(cfg, worlds=2, engine="cpu", env=replace(box, random=calm)).make_env("cpu")
        env.reset()
        reasons = [env.step(torch.zeros(2, 12)).info["reason"].clone() for _ in range(130)]
        ends[waits] = EndReason.STALLED in torch.stack(reasons)
    assert ends == {True: False, False: True}
