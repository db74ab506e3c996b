"""What the learner asks of an environment, and nothing more.

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
        """By group, [N, d]."""

    @property
    def reward(self) -> Tensor:
        """[N]"""

    @property
    def terminated(self) -> Tensor:
        """[N] bool: over for good, nothing comes after."""

    @property
    def truncated(self) -> Tensor:
        """[N] bool: cut short; what would have come is worth what the critic says."""

    @property
    def valid(self) -> Tensor:
        """[N] bool: this was a transition."""

    @property
    def info(self) -> Mapping[str, Tensor]:
        """[N] each; `flat`: the ground around is level."""


class VecEnv(Protocol):
    """N worlds in step."""

    @property
    def n(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def spec(self) -> EnvSpec:
        """Groups of observations, actions, and what else networks must know."""

    def reset(self) -> Mapping[str, Tensor]: ...

    def step(self, action: Tensor, /) -> VecEnvStep:
        """The next step may write over what this one gives: copy what is to last."""

    def metrics(self, processes: ProcessGroup = SINGLE_PROCESS) -> Mapping[str, float]:
        """Figures since the last call, of the worlds of all processes."""

    def state_dict(self) -> dict[str, Tensor]:
        """All that changes, by name, to be put away in the middle of an episode."""

    def load_state_dict(self, state: Mapping[str, Tensor], /) -> None:
        """Exactly the worlds that gave these."""
