"""Observations are what their names say: slices, history, height maps, noise, images."""

import torch

from swap.env import (
    ObservationNoiseCfg,
    RandomCfg,
)
from swap.env.observation_terms import OBSERVATIONS
from swap.sensors import DepthCameraCfg
from swap.sim import FIXED

QUIET = ObservationNoiseCfg(0, 0, 0, 0)


def random_actions(env, steps: int, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield torch.randn(env.n, 12, generator=generator)


def test_every_slice_is_what_its_name_says(w):
    env = w.small(n=3, families=(("stairs", 1.0),), noise=QUIET)
    env.reset()
    for action in random_actions(env, 12):
        step = env.step(0.3 * action)
    state, obs = env.engine.state, step.obs
    pose = torch.tensor(env.robot.default_pose)
    from mujoco import mju_mulMatTVec3, mju_quat2Mat

    lin_vel, gravity = torch.zeros(3, 3), torch.zeros(3, 3)
    for k in range(3):  # MuJoCo's own rotation as the oracle
        matrix, out = torch.zeros(9).double().numpy(), torch.zeros(3).double().numpy()
        mju_quat2Mat(matrix, state.base_quat[k].double().numpy())
        for target, vector in ((lin_vel, state.base_lin_vel[k]), (gravity, [0, 0, -1.0])):
            mju_mulMatTVec3(out, matrix, torch.as_tensor(vector).double().numpy())
            target[k] = torch.from_numpy(out.copy())
    drawn = env.engine.drawn
    wanted = {
        "ang_vel": state.base_ang_vel * OBSERVATIONS["ang_vel"].scale,
        "gravity": gravity,
        "lin_vel": lin_vel,
        "joint_pos": state.joint_pos - pose,
        "joint_vel": state.joint_vel * OBSERVATIONS["joint_vel"].scale,
        "action": env.frame_builder.action,
        "command": env.commands.value,
        "kp": (drawn.kp - 1) * 5,
        "kd": (drawn.kd - 1) * 5,
        "com_offset": drawn.com * 20,
        "mass": 5 * drawn.payload[:, None] / env.robot.mass,
        "restitution": drawn.restitution[:, None],
        "friction": drawn.friction[:, None] - 1,
        "contacts": torch.stack([state.thigh_force, state.shank_force], 2).norm(dim=-1).flatten(1)
        > 0.1,
        "terrain_heights": env.heights.terrain,
    }
    assert set(wanted) == set(env.groups["privileged"].names)
    for group in ("proprioception", "privileged", "style"):
        for name, x in env.groups[group].unpack(obs[group]).items():
            torch.testing.assert_close(x, wanted[name].float(), atol=1e-5, rtol=1e-5, msg=name)
    for name, x in env.groups["history"].unpack(obs["history"]).items():
        if name.startswith("t0."):
            torch.testing.assert_close(x, wanted[name[3:]].float(), atol=1e-5, rtol=1e-5)
    assert torch.equal(obs["command"], env.commands.value)


def test_history_is_newest_first(w):
    env = w.small(n=2)
    env.reset()
    layout, seen = env.groups["history"], []
    for action in random_actions(env, 7):
        obs = env.step(0.2 * action).obs
        seen.append(obs["history"][:, layout["t0.action"]].clone())
        torch.testing.assert_close(seen[-1], 0.2 * action)
    for k in range(5):
        assert torch.equal(obs["history"][:, layout[f"t{k}.action"]], seen[-1 - k])


def test_height_maps_equal_the_sensors_own(w):
    from swap.sensors import HeightCfg, HeightMaps

    env = w.small(n=3, families=(("rocks", 1.0),))
    env.reset()
    obs = env.step(torch.zeros(3, 12)).obs
    state, boxes = env.engine.state, env.engine.boxes
    maps = HeightMaps(HeightCfg(), 4, 3, boxes.slots)
    maps(boxes, state.base_pos, state.base_quat, state.foot_pos)
    for name, wanted in (
        ("terrain_heights", maps.terrain),
        ("body_heights", maps.body),
        ("foot_heights", maps.foot.flatten(1)),
    ):
        torch.testing.assert_close(obs[name], wanted, atol=1e-5, rtol=0)


def test_noise_is_on_what_the_robot_measures_and_on_nothing_else(w):
    noisy, quiet = w.small(n=64, seed=1), w.small(n=64, seed=1, noise=QUIET)
    a, b = noisy.reset(), quiet.reset()
    layout = noisy.groups["proprioception"]
    off = layout.unpack(a["proprioception"] - b["proprioception"])
    for name, size in (("ang_vel", 0.05), ("gravity", 0.05), ("joint_pos", 0.01)):
        assert 0.8 * size < off[name].abs().max() <= 1.01 * size, name
    assert 0.06 < off["joint_vel"].abs().max() <= 0.0751
    assert (off["command"] == 0).all()
    for name in (
        "privileged",
        "style",
        "terrain_heights",
        "body_heights",
        "foot_heights",
        "command",
    ):
        assert torch.equal(a[name], b[name]), name


def test_actions_are_clipped_before_anything_reads_them(w):
    env = w.small(n=1, action_clip=2.0)
    env.reset()
    obs = env.step(torch.full((1, 12), 50.0)).obs
    assert (obs["privileged"][:, env.groups["privileged"]["action"]] == 2.0).all()


def test_depth_images_come_every_fifth_step_and_at_once_after_a_reset(w):
    env = w.small(
        n=2, families=(("box", 1.0),), camera=DepthCameraCfg(), random=RandomCfg(FIXED, 0)
    )
    obs = env.reset()
    assert obs["depth_clean"].shape == obs["depth_noisy"].shape == (2, 64, 64)
    assert (obs["depth_clean"] < 1).any()
    env.frame_builder.steps[0] = 997
    changes = []
    last = obs["depth_noisy"].clone()  # its noise is new with every image
    for _ in range(10):
        noisy = env.step(0.5 * torch.ones(2, 12)).obs["depth_noisy"]
        changes.append((noisy != last).flatten(1).any(1).tolist())
        last = noisy.clone()
    assert [pair[1] for pair in changes] == [k in (5, 10) for k in range(1, 11)]
    assert [pair[0] for pair in changes] == [k in (4, 5, 10) for k in range(1, 11)]
    assert "depth_clean" not in w.small().reset()
