"""The rsl_rl environment equals our environment, and rsl_rl's own PPO learns in it."""

import math
import sys
from collections import defaultdict
from dataclasses import replace

import pytest
import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from rsl_rl.utils.log_writer import LogWriter
from tensordict import TensorDict

import swap
from swap.adapters.rsl_rl_env import LOG_EVERY
from swap.api import env_cfg
from swap.env import CommandCfg
from swap.errors import UserError
from swap.learn.gae import gae

TINY = env_cfg("tiny")
SHORT = replace(TINY, terminations=replace(TINY.terminations, episode_length_s=0.6))
"""Time limits after thirty steps; wild robots fall before."""
STAND = replace(
    TINY,
    families=(("flat", 1.0),),
    commands=CommandCfg(free_fraction=1.0, stand_fraction=1.0),
)
"""Standing still is rewarded from the first step on."""
SEES = replace(env_cfg("swap"), levels=2, variants=1)
NET = {"class_name": "MLPModel", "hidden_dims": [128, 64], "obs_normalization": True}
ALGORITHM = {"class_name": "PPO", "entropy_coef": 0.0, "desired_kl": 0.02}


def runner(env: VecEnv, *, std: float = 0.6, log_dir=None, **changed) -> OnPolicyRunner:
    torch.manual_seed(0)
    cfg = {
        "num_steps_per_env": 24,
        "save_interval": 1000,
        "obs_groups": {"actor": ["proprioception"], "critic": ["privileged"]},
        "actor": NET
        | {"distribution_cfg": {"class_name": "GaussianDistribution", "init_std": std}},
        "critic": NET,
        "algorithm": ALGORITHM,
        "logger": {"class_name": Figures},
    }
    return OnPolicyRunner(env, cfg | changed, log_dir=log_dir)


class Figures(LogWriter):
    """What rsl_rl logs, by name and in order."""

    def __init__(self, log_dir: str) -> None:
        self.told: dict[str, list[float]] = defaultdict(list)

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        self.told[tag].append(float(scalar_value))


def wild(n: int, steps: int) -> list[torch.Tensor]:
    luck = torch.Generator().manual_seed(0)
    return [torch.randn(n, 12, generator=luck) * 3 for _ in range(steps)]


def test_the_contract():
    env = swap.make_rsl_rl_env(TINY, num_envs=3, device="cpu")
    assert isinstance(env, VecEnv)
    for name in VecEnv.__annotations__:
        assert getattr(env, name) is not None, name
    obs = env.get_observations()
    assert isinstance(obs, TensorDict)
    assert obs.batch_size == (3,)
    assert (env.num_envs, env.num_actions, env.max_episode_length) == (3, 12, 1001)
    held = obs.clone()
    for step in range(1, 2 * LOG_EVERY + 1):
        new, reward, dones, extras = env.step(torch.ones(3, 12))
        assert new is env.get_observations()
        assert new.keys() == obs.keys()
        assert reward.shape == dones.shape == extras["time_outs"].shape == (3,)
        assert (reward.dtype, dones.dtype) == (torch.float32, torch.long)
        assert ("log" in extras) == (step % LOG_EVERY == 0)
    assert all((held[name] == obs[name]).all() for name in obs.keys())  # noqa: SIM118
    assert all(math.isfinite(x) for x in extras["log"].values())


def test_it_is_our_environment_with_ends_told_one_step_late():
    env = swap.make_rsl_rl_env(SHORT, num_envs=6, device="cpu", seed=5)
    ours = swap.make_env(SHORT, 6, device="cpu", seed=5)
    want, age = ours.reset(), torch.zeros(6, dtype=torch.long)
    ended = truncated = torch.zeros(6, dtype=torch.bool)
    fallen = limits = 0
    for action in wild(6, 80):
        for name, x in env.get_observations().items():
            assert (x == want[name]).all()
        step = ours.step(action)
        _, reward, dones, extras = env.step(action)
        want = step.obs
        assert (reward == step.reward).all()
        assert (dones.bool() == ended).all()
        assert (extras["time_outs"] == truncated).all()
        assert not (reward * dones).any()  # the step that resets
        age = torch.where(ended, 0, age + 1)
        assert (env.episode_length_buf == age).all()
        assert (age < env.max_episode_length).all()
        ended, truncated = step.terminated | step.truncated, step.truncated.clone()
        fallen, limits = fallen + step.terminated.sum(), limits + truncated.sum()
    assert fallen > 3
    assert limits > 3


def test_rsl_rl_computes_the_returns_that_we_do(capsys):
    """With a critic that knows that nothing comes after a failure, and without discount, because
    rsl_rl applies it once more in its additional step."""
    gamma, lam, steps, n = 1.0, 0.9, 60, 6
    env = swap.make_rsl_rl_env(SHORT, num_envs=n, device="cpu")
    rates = {"gamma": gamma, "lam": lam}
    alg = runner(env, std=3.0, num_steps_per_env=steps, algorithm=ALGORITHM | rates).alg
    seen: list = []
    step_of = env.env.step

    def spied(action):
        step = step_of(action)
        seen.append(replace(step, reward=step.reward.clone()))
        return step

    class Critic(torch.nn.Module):
        def forward(self, obs):
            value = obs["privileged"].sum(1)
            if seen:
                value = value.masked_fill(seen[-1].terminated, 0)
            values.append(value)
            return value[:, None]

        get_hidden_state = reset = lambda *_, **__: None

    values: list[torch.Tensor] = []
    env.env.step, alg.critic = spied, Critic()
    obs = env.get_observations()
    with torch.inference_mode():
        for _ in range(steps):
            obs, *rest = env.step(alg.act(obs))
            alg.process_env_step(obs, *rest)
        alg.compute_returns(obs)
    capsys.readouterr()
    told = [torch.stack([getattr(step, name) for step in seen]) for name in FLAGS]
    reward, terminated, truncated, valid = told
    _, returns = gae(reward, torch.stack(values), terminated, truncated, valid, **rates)
    assert (terminated.sum(), truncated.sum()) > (3, 3)
    torch.testing.assert_close(alg.storage.returns[..., 0][valid], returns[valid])


FLAGS = ("reward", "terminated", "truncated", "valid")


def test_rsl_rls_ppo_learns_to_stand(tmp_path, capsys):
    """Without learning the reward stays as it is, to 15 %; with it, it more than doubles."""
    env = swap.make_rsl_rl_env(
        STAND, num_envs=32, groups=("proprioception", "privileged"), device="cpu"
    )
    learner = runner(env, log_dir=str(tmp_path))
    before = {name: x.clone() for name, x in learner.alg.get_policy().state_dict().items()}
    learner.learn(20)
    assert "Mean reward" in capsys.readouterr().out
    figures = learner.logger.writer.told
    for name in ("Loss/value", "Loss/surrogate", "reward/step", "speed_mps"):
        assert len(figures[f"{'' if '/' in name else 'Episode/'}{name}"]) == 20
    assert all(math.isfinite(x) for told in figures.values() for x in told)
    after = learner.alg.get_policy().state_dict()
    assert all((after[name] != x).any() for name, x in before.items() if "weight" in name)
    reward = figures["reward/step"]
    assert sum(reward[-5:]) > 1.4 * sum(reward[:5])
    # What it learned can be loaded, and drives the worlds outside of inference mode.
    again = runner(env)
    again.load(str(next(tmp_path.glob("model_*.pt"))))
    policy = again.get_inference_policy()
    assert not env.get_observations()["privileged"].is_inference()
    for _ in range(3):
        obs, *_ = env.step(policy(env.get_observations()))
    assert torch.isfinite(obs["proprioception"]).all()


def test_its_networks_read_the_camera(capsys):
    env = swap.make_rsl_rl_env(SEES, num_envs=2, device="cpu")
    assert env.get_observations()["depth_noisy"].shape == (2, 1, 64, 64)
    eyes = {"output_channels": [4, 4], "kernel_size": 8, "stride": 4}
    actor = NET | {"class_name": "CNNModel", "cnn_cfg": eyes}
    learner = runner(
        env,
        num_steps_per_env=4,
        obs_groups={"actor": ["proprioception", "depth_noisy"], "critic": ["privileged"]},
        actor=actor | {"distribution_cfg": {"class_name": "GaussianDistribution"}},
    )
    first = [x.clone() for x in learner.alg.get_policy().cnns.parameters()]
    learner.learn(1)
    moved = [x.clone() for x in learner.alg.get_policy().cnns.parameters()]
    assert any((a != b).any() for a, b in zip(first, moved, strict=True))


def test_random_lengths_of_first_episodes_are_refused_aloud():
    env = swap.make_rsl_rl_env(TINY, num_envs=2, device="cpu")
    with pytest.warns(UserWarning, match="init_at_random_ep_len=True does nothing"):
        env.episode_length_buf = torch.ones(2, dtype=torch.long)
    assert not env.episode_length_buf.any()


def test_unknown_groups_are_one_line():
    with pytest.raises(UserError, match="unknown observation group 'policy'; known: "):
        swap.make_rsl_rl_env(TINY, groups=("policy",), device="cpu")


@pytest.mark.parametrize("missing", ["rsl_rl", "tensordict"])
def test_without_rsl_rl_the_command_that_installs_it_is_named(monkeypatch, missing):
    for name in [x for x in sys.modules if x.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "swap.adapters.rsl_rl_env")
    with pytest.raises(UserError, match=f"'{missing}.*; install it: pip install 'rsl-rl-lib>"):
        swap.make_rsl_rl_env(TINY, device="cpu")
