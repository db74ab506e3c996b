"""Steps of worlds in, a reward for moving like the reference motions out (AMP)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from swap.learn.amp import AMP
from swap.learn.vec_env import VecEnvStep
from swap.state_dict import Buffers
from swap.symmetry import Layout

GROUP = "privileged"
"""The group that a frame of motion is cut from: there its fields have no noise."""
FRAME = ("joint_pos", "lin_vel", "ang_vel", "joint_vel")


def frame_of(group: Layout) -> Layout:
    """The fields of one frame, in its order."""
    return Layout(tuple(field for name in FRAME for field in group if field.name == name))


class StyleReward(Buffers):
    """Remembers the last frame of every world and judges the pair it makes with the next."""

    pair: Tensor
    """[N, 2, d]: the last frame and this one."""

    def __init__(self, amp: AMP, group: Layout, n: int) -> None:
        """`group`: the layout of the observations that frames are cut from; `n` worlds."""
        columns = torch.cat([torch.arange(group.dim)[group[name]] for name in FRAME])
        super().__init__(pair=amp.expert.new_zeros(n, 2, len(columns)))
        self.amp, self._columns = amp, columns.to(amp.expert.device)

    def remember(self, obs: Mapping[str, Tensor]) -> None:
        """What the worlds look like before they act."""
        torch.index_select(obs[GROUP], 1, self._columns, out=self._last)

    @property
    def _last(self) -> Tensor:
        return self.pair[:, 0]

    def reward(self, step: VecEnvStep) -> Tensor:
        """[N]: 0 where there was no transition, and near obstacles, which no reference knows."""
        self.pair[:, 1] = step.obs[GROUP].index_select(1, self._columns)
        mask = step.valid & step.info["flat"]
        self.amp.store(self.pair, mask)
        return self.amp.reward(self.pair, mask)
