"""What a run has adapted goes on under changed options, unless others are asked for."""

from dataclasses import replace

import pytest
import torch

from small_parkour import SMALL
from swap.cli.train import parse
from swap.policy import PolicyCfg
from swap.presets import RunCfg
from swap.runs import load, to_json, train
from swap.runs.console import PlainBoard
from swap.runs.noise_and_rate import RATE, STD, same_rate, same_std


def test_the_std_stays_what_it_was_under_other_bounds():
    old, new = PolicyCfg(init_std=0.4, max_std=1.0), PolicyCfg(init_std=0.4, max_std=0.5)
    raw = torch.tensor([-2.0, -1.0, 0.0, 3.0])

    def std(raw, cfg):
        return cfg.min_std + (cfg.max_std - cfg.min_std) * torch.sigmoid(raw)

    assert same_std(raw, old, old) is raw
    wanted = std(raw, old).clamp(max=new.max_std)
    torch.testing.assert_close(std(same_std(raw, old, new), new), wanted, atol=1e-3, rtol=0.0)
    torch.testing.assert_close(std(same_std(raw, old, new), new)[:2], wanted[:2])
    bolder = replace(new, init_std=0.3)
    wanted = torch.full((4,), 0.3)
    torch.testing.assert_close(std(same_std(raw, old, bolder), bolder), wanted)


def test_the_rate_goes_on_unless_another_is_asked_for():
    cfg, rate = SMALL.ppo, torch.tensor(3e-4)
    assert same_rate(rate, cfg, cfg) == rate
    assert same_rate(rate, cfg, replace(cfg, lr=2e-3)) == torch.tensor(2e-3)
    assert same_rate(rate, cfg, replace(cfg, lr_range=(5e-4, 1e-2))) == torch.tensor(5e-4)


def test_a_run_goes_on_with_the_noise_it_had_and_the_rate_that_is_asked_for(tmp_path, capsys):
    folder = tmp_path / "run"
    train(
        SMALL.build("cpu"),
        folder,
        RunCfg(iterations=1, tensorboard=False),
        config={"preset": "tiny", "cfg": to_json(SMALL)},
        board=PlainBoard(every_s=1e9),
    )
    stored = load(folder).tensors

    def resumed(*options):
        plan = parse(["--resume", str(folder), "--device", "cpu", *options])
        trainer = plan.cfg.build("cpu")
        trainer.load_state_dict(
            {name: x for name, x in plan.resume.tensors.items() if not name.startswith("rng/")},
            plan.resume.numbers,
        )
        return trainer

    as_it_was = resumed()
    assert torch.equal(as_it_was.ppo.lr, stored[RATE])
    assert torch.equal(as_it_was.policy.actor.head.raw_std, stored[STD])
    std = as_it_was.policy.actor.head.std_per_orbit
    wider = resumed("--policy.max-std", "3.0", "--ppo.lr", "2e-4")
    assert "changed: ppo.lr" in capsys.readouterr().out
    assert wider.ppo.lr.item() == pytest.approx(2e-4)
    torch.testing.assert_close(wider.policy.actor.head.std_per_orbit, std)
    bolder = resumed("--policy.init-std", "0.2")
    assert bolder.policy.actor.head.std_per_orbit.tolist() == pytest.approx([0.2] * len(std))
