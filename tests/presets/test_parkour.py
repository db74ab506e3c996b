"""The real trainable in a run: three iterations and three more equal six, to the last bit."""

import pytest
import torch

from small_parkour import SMALL, figures, train_until
from swap.env import CommandCfg, EnvCfg, RandomCfg, TerminationCfg
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
