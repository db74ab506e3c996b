"""Defines what the learner needs from an environment, and nothing more.

Worlds are reset one step late: the observation that comes with an end is the true last one, and
the step after it resets the world, ignores the action, gives the first observation of the next
episode, reward 0 and `valid` False. So the value beyond a time limit is the value of the next
stored observation, and a step that is not valid is left out of everything.
"""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from swap.distributed import SINGLE_PROCESS, ProcessGroup
from swap.env_spec import EnvSpec


class VecEnvStep(Protocol):
    """What one control step of N worlds gives."""

    @property
    def obs(self) -> Mapping[str, Tensor]:
        """Observations by group, [N, d]."""

    @property
    def reward(self) -> Tensor:
        """[N]"""

    @property
    def terminated(self) -> Tensor:
        """[N] bool: the episode ended for good; nothing comes after it."""

    @property
    def truncated(self) -> Tensor:
        """[N] bool: the episode was cut short; the critic estimates the value of the rest."""

    @property
    def valid(self) -> Tensor:
        """[N] bool: this step was a transition, not a reset."""

    @property
    def info(self) -> Mapping[str, Tensor]:
        """[N] each; `flat`: the ground around is level."""


class VecEnv(Protocol):
    """N worlds that are stepped together."""

    @property
    def n(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def spec(self) -> EnvSpec:
        """Groups of observations, actions, and what else networks must know."""

    def reset(self) -> Mapping[str, Tensor]: ...

    def step(self, action: Tensor, /) -> VecEnvStep:
        """Takes one step. The next step may overwrite the result; copy what you keep."""

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> Mapping[str, float]:
        """Figures since the last call, of the worlds of all processes."""

    def state_dict(self) -> dict[str, Tensor]:
        """All that changes, by name; it may be saved in the middle of an episode."""

    def load_state_dict(self, state: Mapping[str, Tensor], /) -> None:
        """Restores exactly the worlds that gave these."""
