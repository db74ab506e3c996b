"""The prediction is the earlier latent, advanced by the actions since then and by no image."""

from dataclasses import replace

import pytest
import torch

import tiny_swap
from swap.env import ParkourEnv
from swap.evaluate.imagination import Imagination

READS = [("proprioception",), ("proprioception", "command"), ("command",)]
TICKS, K = 3, tiny_swap.CFG.env.camera.every


def test_the_images_are_of_the_present_latent_and_of_the_past_one_taken_on():
    luck, robot = torch.Generator().manual_seed(2), tiny_swap.robot()
    env = ParkourEnv(robot.cfg.env, 2, seed=1)
    agent, obs = robot.agent_for(env), env.reset()
    imagination, model = Imagination(agent, ticks=TICKS), agent.model
    code, latents, actions = model.codec, [], []
    for step in range(6 * K):
        action = agent.act(obs)
        if step % K == 0:
            latents.append(
                type(agent.latent_state.latent)(*(x.clone() for x in agent.latent_state.latent))
            )
        imagination.follow(action)
        actions.append(action)
        obs = env.step(action + 0.3 * torch.randn(2, 12, generator=luck)).obs

        now, images = step // K, imagination.images
        assert images.ticks == min(now, TICKS)
        with torch.no_grad():
            reconstructed = code.to_linear(model.decode(latents[now]).depth)
            state = latents[now - images.ticks]
            for tick in range(now - images.ticks, now):
                window = torch.stack(actions[tick * K : (tick + 1) * K], 1)
                state = model.predict(state, window, None)
            predicted = code.to_linear(model.decode(state).depth)
        assert torch.allclose(images.reconstructed, reconstructed, atol=1e-6)
        # The depth code is steep near its end, so rounding grows.
        assert torch.allclose(images.predicted, predicted, atol=1e-4)
        assert images.ticks == 0 or not torch.allclose(images.predicted, reconstructed, atol=1e-3)


@pytest.mark.parametrize("reads", READS)
def test_the_predicted_pose_is_found_whatever_else_the_model_reads(reads):
    robot = tiny_swap.robot()
    model = replace(robot.cfg.model, net=replace(robot.cfg.model.net, reads=reads))
    robot = replace(robot, cfg=replace(robot.cfg, model=model))
    env = ParkourEnv(robot.cfg.env, 2, seed=1)
    agent, obs = robot.agent_for(env), env.reset()
    imagination = Imagination(agent)
    assert imagination.predicted_proprioception() is None
    imagination.follow(agent.act(obs))
    felt = imagination.predicted_proprioception()
    if "proprioception" not in reads:
        assert felt is None
        return
    layout = env.groups["proprioception"]
    assert tuple(felt) == layout.names
    first = imagination.predicted.prop[:, : layout.dim]
    assert torch.equal(layout.pack(felt), first)
