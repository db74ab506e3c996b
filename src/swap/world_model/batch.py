"""Holds the sequences of ticks that the world model learns from, and marks which ticks count."""

from typing import NamedTuple

import torch
from torch import Tensor

from swap.world_model.rssm import Latent


class Sequences(NamedTuple):
    """B sequences of T ticks each, as the replay stores them."""

    depth_noisy: Tensor  # [B, T, rows, cols] uint8: what the camera saw
    depth_clean: Tensor  # [B, T, rows, cols] uint8: what there was to see
    prop: Tensor  # [B, T, 33]
    actions: Tensor  # [B, T, k, 12]: those that led to the tick
    body: Tensor  # [B, T, 286], m
    foot: Tensor  # [B, T, 100], m
    first: Tensor  # [B, T] bool: the first tick of an episode
    valid: Tensor  # [B, T] bool: a tick that counts
    context: Latent  # [B, ...]: the latent before the first tick

    def cleaned(self) -> "Sequences":
        """Returns a copy with zeros at ticks that are not valid (whatever they held, NaN too).
        `first` is set there and at the tick after, so that no state passes through a tick that does
        not count."""
        first = self.first | ~self.valid
        first = torch.cat((first[:, :1], first[:, 1:] | ~self.valid[:, :-1]), 1)

        def kept(x: Tensor) -> Tensor:
            # Not a product: 0 * NaN is NaN.
            return torch.where(self.valid.view(*self.valid.shape, *[1] * (x.ndim - 2)), x, 0)

        return self._replace(
            depth_noisy=kept(self.depth_noisy),
            depth_clean=kept(self.depth_clean),
            prop=kept(self.prop),
            actions=kept(self.actions),
            body=kept(self.body),
            foot=kept(self.foot),
            first=first,
            context=self.context.map(lambda x: torch.where(first[:, :1], 0.0, x)),
        )
