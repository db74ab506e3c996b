"""Stores T steps of N worlds on the device, and returns rows of them by index."""

from typing import NamedTuple

import torch
from torch import Tensor

from swap.policy import Inputs


class Batch(NamedTuple):
    """Samples for one gradient step, M rows each."""

    actor: Tensor  # [M, d_actor]
    critic: Tensor  # [M, d_critic]
    action: Tensor  # [M, d]
    mean: Tensor  # [M, d]: of the distribution the action was drawn from
    log_prob: Tensor  # [M]
    value: Tensor  # [M]: what the critic said then
    advantage: Tensor  # [M]
    returns: Tensor  # [M]
    weight: Tensor  # [M]: 1, or 0 for a step that is not valid
    mirrored_actor: Tensor | None = None  # [M, d_actor]: what is read in the mirror, if kept
    mirrored_critic: Tensor | None = None  # [M, d_critic]
    noiseless_actor: Tensor | None = None  # [M, d_actor]: what is read here without noise, if kept
    noiseless_critic: Tensor | None = None  # [M, d_critic]
    noiseless_log_prob: Tensor | None = None  # [M]: of the action, as read without noise, if kept

    @property
    def mean_weight(self) -> Tensor:
        """[M]: the weight of each sample in a mean over the valid ones."""
        return self.weight / self.weight.sum().clamp(min=1)


class Rollout:
    """Everything that an update reads, [T, N, ...], written step by step."""

    def __init__(
        self,
        steps: int,
        n: int,
        widths: tuple[int, int],
        action: int,
        orbits: int,
        device: torch.device,
        *,
        mirrored: bool = False,
        noiseless: bool = False,
        noiseless_density: bool = False,
    ) -> None:
        """`mirrored`: also keep what the networks read in the mirrored worlds; `noiseless`: and
        what they read here without noise of the latent; `noiseless_density`: and the densities of
        the actions, if that is read."""

        def make(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        def inputs() -> Inputs:
            return Inputs(*(make(steps, n, width) for width in widths))

        self.steps, self.n = steps, n
        self.inputs = inputs()
        self.mirrored = inputs() if mirrored else None
        self.noiseless = inputs() if noiseless else None
        self.action, self.mean = make(steps, n, action), make(steps, n, action)
        self.std = make(orbits)
        """The std of all these actions, one for each orbit; it does not depend on the state."""
        self.log_prob, self.value = make(steps, n), make(steps + 1, n)
        self.noiseless_log_prob = make(steps, n) if noiseless_density else None
        self.reward, self.weight = make(steps, n), make(steps, n)
        self.terminated, self.truncated, self.valid = (
            make(steps, n, dtype=torch.bool) for _ in range(3)
        )
        self.advantage, self.returns = make(steps, n), make(steps, n)

    @property
    def all_inputs(self) -> tuple[Tensor, ...]:
        """Those of actor and critic: as they read them, mirrored, without noise."""
        return *self.inputs, *(self.mirrored or ()), *(self.noiseless or ())

    def __len__(self) -> int:
        return self.steps * self.n

    def take(self, rows: Tensor) -> Batch:
        """Returns rows [M] of the flattened steps and worlds."""

        def chosen(x: Tensor) -> Tensor:
            return x.flatten(0, 1).index_select(0, rows)

        there, noiseless, density = self.mirrored, self.noiseless, self.noiseless_log_prob
        return Batch(
            actor=chosen(self.inputs.actor),
            critic=chosen(self.inputs.critic),
            action=chosen(self.action),
            mean=chosen(self.mean),
            log_prob=chosen(self.log_prob),
            value=chosen(self.value[:-1]),
            advantage=chosen(self.advantage),
            returns=chosen(self.returns),
            weight=chosen(self.weight),
            mirrored_actor=None if there is None else chosen(there.actor),
            mirrored_critic=None if there is None else chosen(there.critic),
            noiseless_actor=None if noiseless is None else chosen(noiseless.actor),
            noiseless_critic=None if noiseless is None else chosen(noiseless.critic),
            noiseless_log_prob=None if density is None else chosen(density),
        )
