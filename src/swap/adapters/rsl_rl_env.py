"""Makes an rsl_rl VecEnv from a ParkourEnv, for its `OnPolicyRunner`.

rsl_rl expects the first observation of the next episode where `dones` is set, and never sees the
last one: at a time limit it bootstraps from the value before the end. Our worlds give the last
observation and are reset one step later. So `dones` and `time_outs` are reported in that later
step, and for rsl_rl an episode is one step longer: after the last observation comes one action
without effect and with reward 0, which ends the episode.

    step t      obs: last of the episode   its reward   dones 0
    step t + 1  obs: first of the next     reward 0     dones 1, time_outs unless it failed

Thus a time limit is bootstrapped from the true last observation, the critic learns that nothing
comes after a failure, and a recurrent policy is reset exactly between two episodes.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict
from torch import Tensor

from swap.adapters import select_groups
from swap.env import ParkourEnv

LOG_EVERY = 24
"""Steps between two sets of figures for rsl_rl's log; on a GPU each has to wait for the device."""


class RslRlVecEnv(VecEnv):
    """N worlds as a VecEnv: observations by group, depth images as [N, 1, rows, cols], which CNNs
    of rsl_rl read."""

    def __init__(self, env: ParkourEnv, *, groups: Sequence[str] | None = None) -> None:
        """`groups` names the observations to return (None: all); rsl_rl stores all it is given."""
        self.env, self._groups = env, groups
        self.num_envs, self.num_actions = env.n, env.spaces.action.dim
        self.max_episode_length = env.cfg.episode_steps + 1
        self.device, self.cfg = env.device, env.cfg
        self._steps = torch.zeros(env.n, dtype=torch.long, device=env.device)
        self._ended = torch.zeros(env.n, dtype=torch.bool, device=env.device)
        self._truncated = torch.zeros_like(self._ended)
        self._count = 0
        self._obs = self._tensordict(env.reset())

    @property
    def episode_length_buf(self) -> Tensor:
        """[N] long: steps since the episode began."""
        return self._steps

    @episode_length_buf.setter
    def episode_length_buf(self, steps: Tensor) -> None:
        """The runner sets it for `init_at_random_ep_len`; here that has no effect."""
        warnings.warn(
            "episodes of SWAP begin at their beginning; init_at_random_ep_len=True does nothing",
            stacklevel=2,
        )

    def get_observations(self) -> TensorDict:
        return self._obs

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        """Takes one control step with `actions` [N, 12]."""
        # The runner steps in inference mode. Tensors that outlive the step must not be created
        # there: outside of that mode they could neither be written nor learned from.
        with torch.inference_mode(False), torch.no_grad():
            step = self.env.step(actions)
            dones, time_outs = self._ended.clone(), self._truncated.clone()
            self._steps.add_(1).masked_fill_(dones, 0)
            torch.logical_or(step.terminated, step.truncated, out=self._ended)
            self._truncated.copy_(step.truncated)
            self._obs = self._tensordict(step.obs)
            self._count += 1
            extras: dict[str, Any] = {"time_outs": time_outs}
            if self._count % LOG_EVERY == 0:
                extras["log"] = dict(self.env.metrics())
            return self._obs, step.reward.clone(), dones.long(), extras

    def _tensordict(self, obs: Mapping[str, Tensor]) -> TensorDict:
        """Copies the observations: the next step overwrites the tensors, and rsl_rl stores them
        only after it."""
        images = obs.keys() - self.env.groups.keys()
        return TensorDict(
            {
                name: x.unsqueeze(1).clone() if name in images else x.clone()
                for name, x in select_groups(obs, self._groups).items()
            },
            batch_size=[self.num_envs],
            device=self.device,
        )
