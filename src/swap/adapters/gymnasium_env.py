"""Makes Gymnasium environments from a ParkourEnv: N worlds as a VectorEnv, or one world as an Env.

Gymnasium calls what our worlds do `NEXT_STEP` autoreset: the observation that comes with an end is
the true last one; the step after it ignores the action and gives the first observation of the next
episode and reward 0. So only tensors have to be converted into arrays.

Importing this file registers `swap/Parkour-v0` for `gymnasium.make_vec` and `gymnasium.make`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from swap.adapters import select_groups
from swap.env import ParkourEnv
from swap.errors import UserError

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]


class GymnasiumVectorEnv(VectorEnv[Arrays, Array, Array]):
    """Observations by group, actions around the default pose: [N, ...] float32.

    For every world, `infos` says how its episode ended, if it did (`reason`, `success`), its age,
    its level, and whether the step was a transition (`valid`).
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        make: Callable[[int], ParkourEnv],
        *,
        groups: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        """`make` builds an environment from a seed; `groups` names the observations to return
        (None: all)."""
        self._make, self._groups, self._seed = make, groups, seed
        self.env = make(seed)
        self._first: Arrays | None = self._arrays(self.env.reset())
        self.num_envs = self.env.n
        images = self._first.keys() - self.env.groups.keys()
        limits = {name: (0.0, 1.0) if name in images else (-np.inf, np.inf) for name in self._first}
        self.single_observation_space = spaces.Dict(
            {
                name: spaces.Box(*limits[name], array.shape[1:], np.float32)
                for name, array in self._first.items()
            }
        )
        clip, joints = self.env.cfg.action_clip, self.env.spaces.action.dim
        self.single_action_space = spaces.Box(-clip, clip, (joints,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Begins a new episode in all worlds. With a `seed` everything begins anew: courses, levels
        and random numbers are those of a new environment. Without one, the levels stay as they
        are."""
        super().reset(seed=seed)
        if options:
            raise UserError(f"reset has no options, and was given {', '.join(options)}")
        if seed is not None and (seed != self._seed or self._first is None):
            self._seed, self._first = seed, None
            self.env = self._make(seed % 2**64)  # torch takes no larger seed
        first, self._first = self._first, None
        return self._arrays(self.env.reset()) if first is None else first, {}

    def step(self, actions: Array) -> tuple[Arrays, Array, Array, Array, dict[str, Any]]:
        """Takes one control step; `actions` as in `action_space`."""
        if np.shape(actions) != self.action_space.shape:
            raise UserError(
                f"actions of shape {np.shape(actions)}; this environment takes "
                f"{self.action_space.shape}"
            )
        self._first = None
        device = self.env.device
        step = self.env.step(torch.as_tensor(actions, dtype=torch.float32, device=device))
        infos = {name: _array(x) for name, x in {**step.info, "valid": step.valid}.items()}
        # Gymnasium's masks of the worlds that have the information: all of them.
        everyone = {f"_{name}": np.ones(self.num_envs, dtype=np.bool_) for name in infos}
        return (
            self._arrays(step.obs),
            _array(step.reward).astype(np.float64),
            _array(step.terminated),
            _array(step.truncated),
            {**infos, **everyone},
        )

    def _arrays(self, obs: Mapping[str, Tensor]) -> Arrays:
        return {name: _array(x) for name, x in select_groups(obs, self._groups).items()}


class GymnasiumEnv(gymnasium.Env[Arrays, Array]):
    """One world, which the caller resets, as usual in Gymnasium."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, worlds: GymnasiumVectorEnv) -> None:
        self._worlds = worlds
        self.observation_space = worlds.single_observation_space
        self.action_space = worlds.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        super().reset(seed=seed)
        obs, _ = self._worlds.reset(seed=seed, options=options)
        return _only(obs), {}

    def step(self, action: Array) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self._worlds.step(np.asarray(action)[None])
        info = {name: x for name, x in infos.items() if not name.startswith("_")}
        return _only(obs), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _only(info)


def _array(x: Tensor) -> Array:
    """A copy: the next step writes over the tensor."""
    return x.cpu().numpy().copy()


def _only(arrays: Mapping[str, Array]) -> Arrays:
    """The entries of the only world."""
    return {name: array[0] for name, array in arrays.items()}


ID = "swap/Parkour-v0"
if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="swap.api:make_single_gymnasium_env",
        vector_entry_point="swap.api:make_gymnasium_env",
    )
