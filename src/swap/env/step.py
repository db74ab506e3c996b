"""Defines what one control step of an environment returns, and how one episode follows another.

Worlds are reset one step late. When an episode ends at step t, the observation returned at t is its
true last one, so a learner can bootstrap a time limit from it without a separate final observation.
At step t + 1 that world's action is ignored. The world is reset inside the step, after the physics;
the observation returned is the first of the new episode, the reward is 0 and `valid` is False: the
last observation and the first one form no transition, so learners must skip it. One step per
episode is lost; in return, sensors run once per step for all worlds.

    step t      obs: last of the episode   terminated or truncated   valid
    step t + 1  obs: first of the next     neither, reward 0         not valid
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Step:
    """The result of one control step, [N] each. The next step overwrites it: copy what you keep."""

    obs: dict[str, Tensor]
    """Observations by group name."""
    reward: Tensor
    terminated: Tensor  # bool: failure; the value beyond is 0
    truncated: Tensor  # bool: time limit, success, ...; the value beyond is that of `obs`
    valid: Tensor  # bool: False where this is no transition (see the top of this file)
    info: dict[str, Tensor]
