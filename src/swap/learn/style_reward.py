"""Rewards worlds for moving like the reference motions (AMP)."""

from collections.abc import Mapping

from torch import Tensor

from swap.learn.amp import AMP
from swap.learn.vec_env import VecEnvStep
from swap.state_dict import Buffers

GROUP = "style"
"""The group of observations that is a frame of motion."""


class StyleReward(Buffers):
    """Remembers the last frame of every world and judges the pair it makes with the next."""

    pair: Tensor
    """[N, 2, d]: the last frame and this one."""

    def __init__(self, amp: AMP, width: int, n: int) -> None:
        """`width` of a frame; `n` worlds."""
        super().__init__(pair=amp.expert.new_zeros(n, 2, width))
        self.amp = amp

    def remember(self, obs: Mapping[str, Tensor]) -> None:
        """What the worlds look like before they act."""
        self.pair[:, 0] = obs[GROUP]

    def reward(self, step: VecEnvStep) -> Tensor:
        """[N]: 0 where there was no transition, and near obstacles, which no reference knows."""
        self.pair[:, 1] = step.obs[GROUP]
        mask = step.valid & step.info["flat"]
        self.amp.store(self.pair, mask)
        return self.amp.reward(self.pair, mask)
