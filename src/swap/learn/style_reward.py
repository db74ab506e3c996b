"""Rewards worlds for moving like the reference motions (AMP)."""

from collections.abc import Mapping

from torch import Tensor

from swap.learn.amp import AMP
from swap.learn.vec_env import VecEnvStep
from swap.state_dict import Buffers

GROUP = "style"
"""The name of the observation group that holds a frame of motion."""


class StyleReward(Buffers):
    """Keeps the last frame of every world and scores the pair of it and the next one."""

    pair: Tensor
    """[N, 2, d]: the last frame and this one."""

    def __init__(self, amp: AMP, width: int, n: int) -> None:
        """`width` is that of a frame; `n` is the number of worlds."""
        super().__init__(pair=amp.expert.new_zeros(n, 2, width))
        self.amp = amp

    def remember(self, obs: Mapping[str, Tensor]) -> None:
        """Stores the frames of the worlds before they act."""
        self.pair[:, 0] = obs[GROUP]

    def reward(self, step: VecEnvStep) -> Tensor:
        """The style reward [N]: 0 where there was no transition, and near obstacles, which the
        reference does not contain."""
        self.pair[:, 1] = step.obs[GROUP]
        mask = step.valid & step.info["flat"]
        self.amp.store(self.pair, mask)
        return self.amp.reward(self.pair, mask)
