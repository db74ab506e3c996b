"""What one control step of an environment returns, and how one episode follows another.

Worlds are reset one step late. When an episode ends at step t, the observation returned at t is
its true last one: the value beyond a time limit is the value of the next observation, and nothing
needs to be carried along. At step t + 1 that world's action is ignored. It is reset inside the
step, after the physics; the observation returned is the first of the new episode, the reward is 0
and `valid` is False: from the last observation to the first there is no transition, and nothing is
to be learned from it. One step an episode is lost, and sensors run once a step for everyone.

    step t      obs: last of the episode   terminated or truncated   valid
    step t + 1  obs: first of the next     neither, reward 0         not valid
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Step:
    """What one control step gives, [N] each. The next step writes over it: copy what is to last."""

    obs: dict[str, Tensor]
    """By group name."""
    reward: Tensor
    terminated: Tensor  # bool: failure; the value beyond is 0
    truncated: Tensor  # bool: time limit, success, ...; the value beyond is that of `obs`
    valid: Tensor  # bool: False where the transition is none (see the top of this file)
    info: dict[str, Tensor]
