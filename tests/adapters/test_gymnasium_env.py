"""The Gymnasium environment passes Gymnasium's own checks and equals our environment."""

import sys
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils import env_checker, passive_env_checker
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, FlattenObservation, RecordEpisodeStatistics

import swap
from swap.adapters import gymnasium_env
from swap.api import env_cfg
from swap.errors import UserError

ID = gymnasium_env.ID
TINY = env_cfg("tiny")
SHORT = replace(TINY, terminations=replace(TINY.terminations, episode_length_s=0.1))
"""Episodes of five steps."""
SEES = replace(env_cfg("swap"), levels=2, variants=1)
"""With a camera; few courses are made fast."""
ADVICE = ("infinity", "symmetric and normalized")
"""Recommendations of the checker that we do not follow: joint speeds have no limit, and actions are
those of the robot's own policies."""


@pytest.fixture
def advised():
    """Allows only these warnings of Gymnasium."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
    rest = [str(w.message) for w in told if not any(x in str(w.message) for x in ADVICE)]
    assert not rest


def actions(envs: VectorEnv, steps: int, seed: int = 0) -> list[np.ndarray]:
    """Wild enough to make robots fall."""
    envs.action_space.seed(seed)
    return [envs.action_space.sample() for _ in range(steps)]


def life(envs: VectorEnv, steps: int, **reset) -> list:
    return [envs.reset(**reset), *(envs.step(a) for a in actions(envs, steps))]


@pytest.mark.parametrize("of", [TINY, SEES], ids=["tiny", "swap"])
def test_one_world_passes_gymnasiums_checker(of, advised):
    env = gymnasium.make(ID, of=of, device="cpu")
    assert ("depth_noisy" in env.observation_space.spaces) == (of is SEES)
    env_checker.check_env(env.unwrapped)


def test_one_world_is_reset_by_its_user():
    env = gymnasium.make(ID, of=SHORT, device="cpu")
    first, _ = env.reset(seed=3)
    ended = False
    for step in range(5):
        assert not ended, step
        _, _, terminated, truncated, info = env.step(np.zeros(12, dtype=np.float32))
        ended = terminated or truncated
    assert truncated
    assert info["time_s"] == pytest.approx(0.1)
    second, _ = env.reset()
    assert not env_checker.data_equivalence(first, second)
    assert env_checker.data_equivalence(first, env.reset(seed=3)[0], exact=True)


@pytest.mark.parametrize("of", [TINY, SEES], ids=["tiny", "swap"])
def test_worlds_pass_those_of_its_checks_that_fit_many(of, advised):
    envs = gymnasium.make_vec(ID, num_envs=3, of=of, device="cpu")
    assert envs.spec is not None
    assert not envs.spec.nondeterministic  # otherwise less is checked
    for space in (envs.observation_space, envs.single_observation_space):
        passive_env_checker.check_observation_space(space)
    for space in (envs.action_space, envs.single_action_space):
        passive_env_checker.check_action_space(space)
    env_checker.check_seed_deprecation(envs)
    env_checker.check_reset_return_info_deprecation(envs)
    env_checker.check_reset_return_type(envs)
    env_checker.check_reset_seed_determinism(envs)
    env_checker.check_reset_options(envs)
    passive_env_checker.env_reset_passive_checker(envs)
    alone = gymnasium.make_vec(ID, num_envs=1, of=of, device="cpu")
    env_checker.check_returned_data_not_reused(alone)  # asks whether "the" episode is over
    envs.close()
    envs.close()
    assert envs.closed


def test_the_mode_of_resets_is_declared_and_spaces_hold_what_comes():
    envs = gymnasium.make_vec(ID, num_envs=3, of="tiny", device="cpu")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert envs.num_envs == 3
    assert "swap/Parkour-v0, num_envs=3" in repr(envs)
    obs, infos = envs.reset(seed=0)
    assert infos == {}
    assert obs in envs.observation_space
    for action in actions(envs, 20):
        obs, reward, terminated, truncated, infos = envs.step(action)
        assert obs in envs.observation_space
        passive_env_checker.check_obs(obs, envs.observation_space, "step")
        assert reward.shape == terminated.shape == truncated.shape == (3,)
        assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float64, bool, bool)
        for name in ("reason", "success", "time_s", "level", "valid"):
            assert infos[name].shape == infos[f"_{name}"].shape == (3,)
            assert infos[f"_{name}"].all()


def test_it_is_our_environment_step_by_step():
    """With the same seed and actions: same figures, same ends, resets one step late."""
    envs = swap.make_gymnasium_env("tiny", num_envs=4, device="cpu", seed=5)
    ours = swap.make_env("tiny", 4, device="cpu", seed=5)
    want, (obs, _) = ours.reset(), envs.reset(seed=5)
    ends, ended = 0, np.zeros(4, dtype=bool)
    for action in actions(envs, 60):
        for name, x in want.items():
            assert (obs[name] == x.numpy()).all()
        step = ours.step(torch.from_numpy(action))
        obs, reward, terminated, truncated, infos = envs.step(action)
        want = step.obs
        assert (reward == step.reward.numpy()).all()
        assert (terminated == step.terminated.numpy()).all()
        assert (truncated == step.truncated.numpy()).all()
        assert (infos["valid"] == ~ended).all()
        assert not reward[ended].any()
        assert not (terminated | truncated)[ended].any()
        ended = terminated | truncated
        ends += ended.sum()
    assert ends > 4


def test_a_seed_gives_the_same_life_again():
    envs = swap.make_gymnasium_env(SEES, num_envs=4, device="cpu")
    first, other, again = (life(envs, 60, seed=s) for s in (7, 8, 7))
    assert any((step[2] | step[3]).any() for step in first[1:])  # episodes end, and levels move
    assert env_checker.data_equivalence(first, again, exact=True)
    assert not env_checker.data_equivalence(first, other)
    made = swap.make_gymnasium_env(SEES, num_envs=4, device="cpu", seed=7)
    assert env_checker.data_equivalence(first, life(made, 60), exact=True)
    long = envs.reset(seed=2**100 + 1)  # as np_random_seed gives them
    assert env_checker.data_equivalence(long, envs.reset(seed=2**100 + 1), exact=True)


def test_steps_without_a_reset_belong_to_the_first_episode():
    envs = swap.make_gymnasium_env("tiny", 2, device="cpu")
    ours = swap.make_env("tiny", 2, device="cpu")
    ours.reset()
    step = ours.step(torch.ones(2, 12))
    assert (envs.step(np.ones((2, 12)))[0]["history"] == step.obs["history"].numpy()).all()
    assert (envs.reset()[0]["history"] == ours.reset()["history"].numpy()).all()


def test_gymnasiums_wrappers_count_our_episodes():
    plain = swap.make_gymnasium_env(SHORT, num_envs=2, device="cpu")
    envs = RecordEpisodeStatistics(plain)
    envs.reset(seed=0)
    zero = np.zeros((2, 12), dtype=np.float32)
    for _ in range(3):  # five steps an episode, and one that resets
        rewards = []
        for step in range(6):
            _, reward, _, truncated, infos = envs.step(zero)
            assert truncated.all() == (step == 4)
            rewards.append(reward)
            if step == 4:
                assert (infos["episode"]["l"] == 5).all()
                assert infos["episode"]["r"] == pytest.approx(np.sum(rewards, 0))
    listed = DictInfoToList(plain)
    for info in listed.step(zero)[-1]:
        assert info.keys() == plain.env.step(torch.zeros(2, 12)).info.keys() | {"valid"}
    flat = FlattenObservation(plain)
    obs, _ = flat.reset()
    assert obs in flat.observation_space
    assert obs.shape == (2, sum(layout.dim for layout in plain.env.groups.values()))


def test_observations_by_choice():
    envs = swap.make_gymnasium_env("tiny", 2, groups=("command", "history"), device="cpu")
    assert list(envs.reset()[0]) == ["command", "history"]
    assert set(envs.observation_space.keys()) == {"command", "history"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"groups": ("histroy",)}, "unknown observation group 'histroy'; did you mean 'history'"),
        ({"groups": ()}, "groups is empty"),
        ({"of": "nope"}, "unknown preset 'nope'"),
    ],
)
def test_mistakes_are_one_line(options, says):
    with pytest.raises(UserError, match=says):
        swap.make_gymnasium_env(**{"of": "tiny", "device": "cpu", **options})


def test_wrong_actions_and_options_are_one_line():
    envs = swap.make_gymnasium_env("tiny", 2, device="cpu")
    with pytest.raises(UserError, match=r"actions of shape \(12,\); this environment takes \(2, 1"):
        envs.step(np.zeros(12))
    with pytest.raises(UserError, match="reset has no options, and was given reset_mask"):
        envs.reset(options={"reset_mask": np.ones(2, dtype=bool)})


def test_without_gymnasium_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "swap.adapters.gymnasium_env")
    with pytest.raises(UserError, match="'gymnasium' here; install it: pip install 'gymnasium>=1"):
        swap.make_gymnasium_env("tiny", device="cpu")
