"""Arms of the ablation differ only in the constraint and its rate; each trains, and resumes
exactly."""

import json
import math
from dataclasses import replace

import pytest
import torch

from swap.cli import main as cli
from swap.env import TerminationCfg
from swap.evaluate.arms import LIMIT
from swap.learn.mirrored_inputs import MIRRORED_LATENT, NOISELESS_LATENT
from swap.learn.ppo import PPO
from swap.learn.symmetry_baselines import AugmentedPPO, PenalisedPPO
from swap.presets import PRESETS
from swap.presets.swap import ARMS
from swap.runs import from_json, seed_everything, to_json
from swap.runs.config import changes

PLAIN = [
    "policy.equivariant True -> False",
    "model.net.equivariant True -> False",
    "model.lr 0.00014 -> 0.0001",
    "amp.equivariant True -> False",
]
NARROWER = [
    "policy.actor_hidden [512, 256, 128] -> [340, 170, 86]",
    "policy.critic_hidden [512, 256, 128] -> [336, 168, 84]",
    "model.net.deter 512 -> 352",
    "model.net.hidden 384 -> 256",
    "model.net.channels [16, 32, 64, 128] -> [8, 16, 32, 64]",
    "model.net.prop_hidden 128 -> 86",
    "model.net.decoder_hidden 256 -> 182",
    "amp.hidden [256, 128] -> [166, 84]",
]
WIDER = [
    "policy.actor_hidden [512, 256, 128] -> [752, 376, 192]",
    "policy.critic_hidden [512, 256, 128] -> [760, 380, 192]",
    "model.net.deter 512 -> 736",
    "model.net.hidden 384 -> 544",
    "model.net.channels [16, 32, 64, 128] -> [32, 64, 128, 256]",
    "model.net.prop_hidden 128 -> 192",
    "model.net.decoder_hidden 256 -> 336",
    "amp.hidden [256, 128] -> [384, 192]",
]
DIFFERENCES = {
    "swap": [],
    "swap-wide": WIDER,
    "swap-no-eq-policy": PLAIN[:1],
    "swap-no-eq": PLAIN,
    "swap-no-eq-matched": [*PLAIN, *NARROWER],
    "symloss": [*PLAIN, "symmetry.kind none -> loss"],
    "augment": [*PLAIN, "symmetry.kind none -> augment"],
}


def tiny(name: str):
    """An arm with smaller sizes, but otherwise unchanged; episodes end within the second
    rollout."""
    cfg = ARMS[name]
    net = replace(
        cfg.model.net,
        deter=16,
        variables=4,
        classes=4,
        hidden=16,
        channels=(4, 4),
        prop_hidden=8,
        decoder_hidden=8,
    )
    env = replace(
        cfg.env,
        families=(("flat", 1.0), ("box", 1.0)),
        levels=2,
        variants=1,
        terminations=TerminationCfg(episode_length_s=0.3),
    )
    return replace(
        cfg,
        worlds=8,
        engine="cpu",
        env=env,
        policy=replace(cfg.policy, actor_hidden=(16,), critic_hidden=(16,)),
        ppo=replace(cfg.ppo, steps=10, epochs=1, minibatches=2),
        model=replace(cfg.model, net=net, batch=4, ticks=2, updates=2, memory=6),
        amp=replace(cfg.amp, hidden=(16,), batch=16, updates=2, replay=128),
    )


def built(cfg):
    seed_everything(cfg.seed)
    return cfg.build("cpu")


def figures(trainer):
    return {k: x for k, x in trainer.iterate().items() if not k.startswith("time/")}


@pytest.mark.parametrize("name", ARMS)
def test_arms_differ_in_nothing_but_the_constraint(name):
    assert PRESETS[name] is ARMS[name]
    assert set(changes(to_json(ARMS["swap"]), to_json(ARMS[name]))) == set(DIFFERENCES[name])
    assert from_json(type(ARMS[name]), json.loads(json.dumps(to_json(ARMS[name])))) == ARMS[name]


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_trains_and_goes_on_bit_for_bit(name):
    straight = built(tiny(name))
    told = [figures(straight) for _ in range(2)]
    tensors = {key: x.clone() for key, x in straight.state_dict().items()}
    numbers = json.loads(json.dumps(straight.numbers()))
    told.append(figures(straight))

    other = built(tiny(name))
    other.iterate()
    other.load_state_dict(tensors, numbers)
    assert figures(other) == told[-1]
    for key, x in straight.state_dict().items():
        assert torch.equal(x, other.state_dict()[key]), key
    assert straight.numbers() == other.numbers()

    for row in told:
        assert all(math.isfinite(x) for x in row.values())
        assert not any(x for key, x in row.items() if key.startswith("guard/"))
    assert sum(row["episodes"] for row in told) > 0
    assert "model/loss" in told[-1]
    assert ("ppo/asymmetry" in told[-1]) == (name == "symloss")
    assert ("ppo/mirrored_clipped" in told[-1]) == (name == "augment")
    assert straight.model.cfg.equivariant == (name in ("swap", "swap-wide", "swap-no-eq-policy"))


@pytest.mark.parametrize("name", ARMS)
def test_only_those_pay_for_the_mirror_that_look_into_it(name):
    trainer = built(tiny(name))
    kinds = {"symloss": PenalisedPPO, "augment": AugmentedPPO}
    looks = name in kinds
    assert type(trainer.ppo) is kinds.get(name, PPO)
    assert (trainer.collector.mirrored_inputs is not None) == looks
    assert bool(trainer.rollout.mirrored) == looks
    assert bool(trainer.rollout.noiseless) == (name == "symloss")
    latents = {"symloss": [MIRRORED_LATENT, NOISELESS_LATENT], "augment": [MIRRORED_LATENT]}
    tracked = list(trainer.collector.latent_tracker.latent_states)
    assert tracked == ["latent", *latents.get(name, [])]
    assert ("mirrored_h" in trainer.learner.replay.data) == (name == "augment")
    kept = [key for key in trainer.state_dict() if MIRRORED_LATENT in key]
    assert bool(kept) == looks


def test_the_rollout_keeps_the_latents_of_every_step():
    trainer = built(tiny("symloss"))
    trainer.policy.update_normalizers = lambda *_: (
        None
    )  # normalisers that leave everything as it is
    seen, decide = [], trainer.collector.decide

    def watched(noise):
        seen.append({k: x.clone() for k, x in trainer.collector._read.items()})
        return decide(noise)

    trainer.collector.decide = watched
    trainer.iterate()
    groups, deter = trainer.env.groups, trainer.model.cfg.deter
    for t, obs in enumerate(seen):
        history, rest = trainer.rollout.mirrored.actor[t].split((210, 3 + deter), 1)
        assert torch.equal(history, groups["history"].rep(obs["history"]).clamp(-10, 10))
        assert torch.equal(rest[:, :3], groups["command"].rep(obs["command"]))
        assert torch.equal(rest[:, 3:], obs[MIRRORED_LATENT])
        assert torch.equal(trainer.rollout.noiseless.critic[t, :, -deter:], obs[NOISELESS_LATENT])
    assert obs[MIRRORED_LATENT].abs().max() > 0.01
    assert not torch.equal(obs[MIRRORED_LATENT], obs["latent"])
    assert not torch.equal(obs[NOISELESS_LATENT], obs["latent"])


def test_swap_arms_measures_what_each_constrains(capsys, tmp_path):
    file = tmp_path / "arms.json"
    assert cli.dispatch(["arms", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    rows = {row["arm"]: row for row in json.loads(file.read_text())["rows"]}
    assert list(rows) == list(ARMS)
    for name, row in rows.items():
        assert name in shown
        assert f"{row['total']:,}" in shown
        assert sum(row["parameters"].values()) == row["total"] <= LIMIT == 7_000_000
        plain = {part for part, kind in row["networks"].items() if kind == "plain"}
        expected = {"swap": set(), "swap-wide": set(), "swap-no-eq-policy": {"actor", "critic"}}
        assert plain == expected.get(name, set(row["networks"])), name
        assert row["networks"].keys() == row["parameters"].keys()
    assert rows["swap"]["total"] < 0.5 * rows["swap-no-eq"]["total"]
    pairs = (("swap", "swap-no-eq-matched", 0.005), ("swap-no-eq", "swap-wide", 0.01))
    for one, other, near in pairs:
        matched = rows[other]["parameters"]
        for part, size in rows[one]["parameters"].items():
            assert matched[part] == pytest.approx(size, rel=0.02), part
        assert rows[other]["total"] == pytest.approx(rows[one]["total"], rel=near)
    assert rows["symloss"]["penalty"] == {"actor": 4.0}
    assert [name for name, row in rows.items() if row["augmentation"]] == ["augment"]
