"""SWAP itself, as small as can be: it learns in one stage, and resumes to the last bit."""

from dataclasses import replace

import pytest
import torch

import tiny_swap
from small_parkour import figures, train_until
from swap.env import TerminationCfg
from swap.errors import UserError
from swap.runs import load
from swap.sensors import DepthCameraCfg, OpticsCfg

CFG = tiny_swap.CFG
TINY = replace(
    CFG,
    engine="cpu",
    env=replace(CFG.env, terminations=TerminationCfg(episode_length_s=0.5)),
    ppo=replace(CFG.ppo, steps=12),
    model=replace(CFG.model, ticks=3, memory=8, updates=2),
    amp=replace(CFG.amp, updates=2),
)


def test_three_and_three_iterations_are_six_bit_for_bit(tmp_path):
    train_until(TINY, tmp_path / "six", 6)
    train_until(TINY, tmp_path / "three", 3)
    train_until(TINY, tmp_path / "three", 6, resume=load(tmp_path / "three"))
    six, three = load(tmp_path / "six"), load(tmp_path / "three")
    assert six.tensors.keys() == three.tensors.keys()
    for name, x in six.tensors.items():
        assert torch.equal(x, three.tensors[name]), name
    assert figures(tmp_path / "six") == figures(tmp_path / "three")


def test_every_part_learns():
    trainer = TINY.build("cpu")
    parts = {"actor": trainer.policy.actor, "critic": trainer.policy.critic}
    parts |= {"model": trainer.model, "discriminator": trainer.amp.net}
    before = {
        name: [p.detach().clone() for p in part.parameters() if len(p)]
        for name, part in parts.items()
    }
    told = [trainer.iterate() for _ in range(3)]
    for name, part in parts.items():
        now = [p for p in part.parameters() if len(p)]
        assert not any(torch.equal(p, q) for p, q in zip(now, before[name], strict=True)), name
    assert told[-1]["model/loss"] > 0
    assert 0 < told[-1]["amp/style"] <= 1
    assert told[-1]["guard/model_skipped"] == 0


def test_ticks_are_where_the_camera_takes_its_pictures():
    """Every fifth step, with the newest image and the actions that led there."""
    trainer = TINY.build("cpu")
    latent_tracker, env = trainer.collector.latent_tracker, trainer.env
    trainer.iterate()  # steps 0, 5 and 10 were ticks
    assert latent_tracker.replay.filled == 3
    assert latent_tracker.clock.count == 2
    trainer.iterate()  # 15 and 20
    assert latent_tracker.replay.filled == 5
    newest = (latent_tracker.replay.slot - 1) % latent_tracker.replay.ticks
    actions = latent_tracker.replay.data["actions"][newest][0]
    taken = trainer.rollout.action[3:8]  # steps 15 to 19 are 3 to 7 of the second rollout
    alive = ~latent_tracker.replay.data["first"][newest][0]
    assert alive.any()
    torch.testing.assert_close(
        actions[alive].float(), taken.transpose(0, 1)[alive], atol=2e-3, rtol=2e-3
    )
    clean = latent_tracker.model.codec.to_bytes(
        latent_tracker.model.codec.from_linear(env.camera.frames[0])
    )
    fresh = latent_tracker.latent_state.fresh  # worlds that were reset since have a newer image
    kept = latent_tracker.replay.data["depth_clean"][newest][0]
    assert torch.equal(kept[~fresh], clean[~fresh])


def test_a_reset_leaves_no_latent_behind():
    trainer = TINY.build("cpu")
    latent_tracker = trainer.collector.latent_tracker
    for _ in range(4):
        trainer.iterate()
    fresh = latent_tracker.latent_state.fresh
    assert (latent_tracker.h[fresh] == 0).all()
    firsts = latent_tracker.replay.data["first"][: latent_tracker.replay.filled]
    assert firsts.any()
    assert not firsts.all()


def test_a_world_model_without_a_camera_is_refused():
    with pytest.raises(UserError, match=r"sees by a camera; set env\.camera=DepthCameraCfg\(\)"):
        replace(CFG, env=replace(CFG.env, camera=None))


def test_images_that_the_encoder_cannot_halve_are_refused_before_anything_is_built():
    camera = DepthCameraCfg(optics=OpticsCfg(rows=30))
    with pytest.raises(UserError, match=r"image size 30x64 does not halve 4 times; .* e\.g\. 32"):
        replace(CFG, env=replace(CFG.env, camera=camera))


def test_the_camera_is_what_its_config_says():
    """Size, rate and range are those of the images, the latents, the replay and the code."""
    camera = DepthCameraCfg(every=3, optics=OpticsCfg(rows=32, cols=48, near_m=0.3, far_m=3.0))
    trainer = replace(TINY, env=replace(TINY.env, camera=camera)).build("cpu")
    trainer.iterate()
    tracker, model = trainer.collector.latent_tracker, trainer.model
    assert tracker.replay.filled == 5  # steps 0, 3, 6, 9 and 12
    assert tracker.replay.data["depth_noisy"].shape[2:] == (32, 48)
    assert tracker.replay.data["actions"].shape[2:] == (3, 12)
    ends = model.codec.to_metres(torch.tensor([-0.5, 0.5]))
    assert ends.tolist() == pytest.approx([0.3, 3.0])
    assert model.decode(model.initial(1, "cpu")).depth.shape == (1, 32, 48)
