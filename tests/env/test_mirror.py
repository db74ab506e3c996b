"""Mirrored course, robot, random numbers and actions give mirrored observations and equal rewards
and ends."""

from dataclasses import replace

import pytest
import torch

from swap.env import REWARDS, EnvCfg, RewardCfg
from swap.env.rewards import RewardTerm
from swap.presets import PRESETS
from swap.sensors import DepthCameraCfg

PAIRS = 12
FAMILIES = ("flat", "tilted_box", "tilted_gap", "tilted_stairs", "lateral_slope", "rocks")
CFG = EnvCfg(
    families=tuple((name, 1.0) for name in FAMILIES), levels=4, variants=2, camera=DepthCameraCfg()
)
ROUGH = PRESETS["swap-rough"].env


def run(env, steps: int = 120, wrong_action: bool = False) -> dict[str, float]:
    """The largest difference between the worlds and the mirror images of their partners."""
    joint = env.robot.body.joint_rep
    generator = torch.Generator().manual_seed(2)
    worst: dict[str, float] = {"ended": 0.0}

    def note(name: str, found: torch.Tensor, image: torch.Tensor) -> None:
        off = (found[PAIRS:].float() - image[:PAIRS].float()).abs()
        if name.endswith("heights") or name == "privileged":
            # A ray along an edge may hit or miss by rounding, but few rays may.
            assert (off > 1e-3).float().mean() < 5e-4, name
            off = off.where(off < 1e-3, 0)
        worst[name] = max(worst.get(name, 0.0), float(off.max()))

    def compare(obs) -> None:
        for name, layout in env.groups.items():
            note(name, obs[name], layout.rep(obs[name]))
        for name in ("depth_clean", "depth_noisy"):
            off = (obs[name][PAIRS:] - obs[name][:PAIRS].flip(-1)).abs() > 1e-3
            worst[name] = max(worst.get(name, 0.0), float(off.float().mean()))

    compare(env.reset())
    for _ in range(steps):
        half = 0.6 * torch.randn(PAIRS, 12, generator=generator)
        image = half if wrong_action else joint(half)
        step = env.step(torch.cat([half, image]))
        compare(step.obs)
        note("reward", step.reward, step.reward)
        for name in ("terminated", "truncated", "valid"):
            note(name, getattr(step, name), getattr(step, name))
        note("reason", step.info["reason"], step.info["reason"])
        worst["ended"] += float((step.terminated | step.truncated).sum())
    note("frontier", env.curriculum.frontier, env.curriculum.frontier)
    return worst


@pytest.mark.parametrize(
    "cfg",
    [CFG, replace(CFG, camera=ROUGH.camera, random=replace(ROUGH.random, push_every_s=0.3))],
    ids=["usual", "rough"],
)
def test_a_mirrored_world_lives_a_mirrored_life(w, cfg):
    found = run(w.Pairs(cfg, PAIRS))
    assert found.pop("ended") > 10  # resets, new courses and robots are part of it
    assert found.pop("depth_clean") < 2e-3
    assert found.pop("depth_noisy") < 2e-3
    assert max(found.values()) < 1e-5, found


def test_a_reward_that_knows_left_from_right_is_noticed(w, monkeypatch):
    wrong = RewardTerm("leans_left", lambda f: f.base_pos[:, 1], "y", "wrong")
    monkeypatch.setitem(REWARDS.added, "leans_left", wrong)
    cfg = replace(CFG, rewards=RewardCfg(terms=(("leans_left", 1.0),)))
    found = run(w.Pairs(cfg, PAIRS), steps=20)
    assert found["reward"] > 1e-4
    assert found["history"] < 1e-5


def test_an_action_that_is_not_mirrored_is_noticed(w):
    try:
        found = run(w.Pairs(CFG, PAIRS), steps=5, wrong_action=True)
    except AssertionError:
        return  # the height maps differ all over
    assert found["history"] > 0.1
