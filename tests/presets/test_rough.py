"""`swap-rough` trains what `swap` trains and more, under conditions as rough as those measured."""

from dataclasses import replace

import torch

import tiny_swap
from small_parkour import figures, train_until
from swap import conditions as rough
from swap.env import TerminationCfg
from swap.presets import PRESETS
from swap.runs import load, to_json
from swap.runs.config import changes

CFG, ENV = tiny_swap.CFG, PRESETS["swap-rough"].env
OUTDOORS = {"platform", "gap_to_slope"}
TINY = replace(
    CFG,
    engine="cpu",
    env=replace(
        CFG.env,
        random=replace(ENV.random, push_every_s=0.1),
        camera=ENV.camera,
        friction_cone=ENV.friction_cone,
        terminations=TerminationCfg(episode_length_s=0.5),
    ),
    ppo=replace(CFG.ppo, steps=12),
    model=replace(CFG.model, ticks=3, memory=8, updates=2),
    amp=replace(CFG.amp, updates=2),
)


def test_it_differs_from_swap_in_what_is_random_in_its_courses_and_in_friction_alone():
    told = changes(to_json(PRESETS["swap"]), to_json(PRESETS["swap-rough"]))
    assert {line.split()[0] for line in told} == {
        "env.families",
        "env.friction_cone",
        "env.random.ranges.friction",
        "env.random.ranges.strength",
        "env.random.ranges.damping",
        "env.random.ranges.latency",
        "env.random.ranges.push",
        "env.random.push_every_s",
        "env.camera.noise.blob_holes",
        "env.camera.noise.pixel_holes",
    }


def test_training_is_as_rough_as_what_is_measured():
    ranges, noise, usual = ENV.random.ranges, ENV.camera.noise, PRESETS["swap"].env.random
    assert ranges.friction[0] <= rough.FRICTION[0]
    assert ranges.payload[1] >= rough.PAYLOAD
    assert ranges.strength[0] <= rough.STRENGTH
    assert ranges.push >= rough.PUSH_MPS
    assert ENV.random.push_every_s < usual.push_every_s
    assert noise.blob_holes >= 2 * rough.GLARE
    assert noise.pixel_holes[1] >= rough.DARKNESS
    for name in ("friction", "payload", "strength", "damping", "latency"):
        (low, high), (least, most) = getattr(ranges, name), getattr(usual.ranges, name)
        assert low <= least <= most <= high, f"{name} has all that swap trains with"


def test_it_trains_on_the_courses_of_swap_and_on_those_outdoors():
    families = {name for name, share in ENV.families if share > 0}
    assert families == {name for name, _ in PRESETS["swap"].env.families} | OUTDOORS


def test_every_part_learns():
    trainer = TINY.build("cpu")
    parts = {"actor": trainer.policy.actor, "critic": trainer.policy.critic}
    parts |= {"model": trainer.model, "discriminator": trainer.amp.net}
    before = {
        name: [p.detach().clone() for p in part.parameters() if len(p)]
        for name, part in parts.items()
    }
    told = [trainer.iterate() for _ in range(3)][-1]
    for name, part in parts.items():
        now = [p for p in part.parameters() if len(p)]
        assert not any(torch.equal(p, q) for p, q in zip(now, before[name], strict=True)), name
    assert told["guard/model_skipped"] == 0
    holes = trainer.env.camera.noise.pixel_holes
    assert len(holes.unique()) == trainer.env.n, "each world is dark in its own way"


def test_two_and_two_iterations_are_four_bit_for_bit(tmp_path):
    train_until(TINY, tmp_path / "four", 4)
    train_until(TINY, tmp_path / "two", 2)
    train_until(TINY, tmp_path / "two", 4, resume=load(tmp_path / "two"))
    four, two = load(tmp_path / "four"), load(tmp_path / "two")
    assert four.tensors.keys() == two.tensors.keys()
    assert any(name.endswith("pixel_holes") for name in four.tensors)
    for name, x in four.tensors.items():
        assert torch.equal(x, two.tensors[name]), name
    assert figures(tmp_path / "four") == figures(tmp_path / "two")
