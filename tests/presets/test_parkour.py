"""The real trainable in a run: three iterations and three more equal six, to the last bit. Plain
policies learn the mirror by a loss or by mirrored samples, without a world model too."""

from dataclasses import replace

import pytest
import torch

from small_parkour import SMALL, figures, train_until
from swap.env import CommandCfg, EnvCfg, RandomCfg, TerminationCfg
from swap.learn import SymmetryCfg
from swap.presets import ParkourCfg
from swap.runs import load

BUSY = EnvCfg(
    families=(("flat", 1.0), ("gap", 1.0), ("stairs", 1.0)),
    levels=3,
    variants=2,
    terminations=TerminationCfg(episode_length_s=1.0),
    commands=CommandCfg(resample_s=0.3),
    random=RandomCfg(push_every_s=0.5),
)
LARGER = ParkourCfg(worlds=12, engine="cpu", env=BUSY, policy=SMALL.policy, ppo=SMALL.ppo, seed=4)


@pytest.mark.parametrize("cfg", [SMALL, LARGER], ids=["small", "larger"])
def test_three_and_three_iterations_are_six_bit_for_bit(cfg, tmp_path):
    train_until(cfg, tmp_path / "six", 6)
    train_until(cfg, tmp_path / "three", 3)
    train_until(cfg, tmp_path / "three", 6, resume=load(tmp_path / "three"))
    six, three = load(tmp_path / "six"), load(tmp_path / "three")
    assert six.iteration == three.iteration == 6
    assert six.tensors.keys() == three.tensors.keys()
    for name, x in six.tensors.items():
        assert torch.equal(x, three.tensors[name]), name
    assert figures(tmp_path / "six") == figures(tmp_path / "three")
    assert len(figures(tmp_path / "six")) == 6
    assert six.tensors["env/count"] > 0  # and what else the environment counts, in tensors


@pytest.mark.parametrize(
    ("kind", "figure"), [("loss", "asymmetry"), ("augment", "mirrored_clipped")]
)
def test_a_plain_policy_that_reads_heights_can_learn_the_mirror(kind, figure, tmp_path):
    plain = replace(SMALL, policy=replace(SMALL.policy, equivariant=False))
    weights = {}
    for how in ("none", kind):
        train_until(replace(plain, symmetry=SymmetryCfg(how)), tmp_path / how, 2)
        weights[how] = load(tmp_path / how).tensors["policy/actor.mlp.net.out.weight.0"]
    assert f"ppo/{figure}" in figures(tmp_path / kind)[-1]
    assert f"ppo/{figure}" not in figures(tmp_path / "none")[-1]
    assert not torch.equal(weights["none"], weights[kind])
