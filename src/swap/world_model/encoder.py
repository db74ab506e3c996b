"""The encoder: turns a noisy depth image and proprioception into an embedding, equivariantly."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from swap.nn import MLP, ConvTrunk
from swap.nn.views import cat, views_of
from swap.symmetry import Rep, regular

PROP_CLIP = 5.0
"""A robot at rest or running stays within about 3; larger values are faults and are clipped."""


class Encoder(nn.Module):
    """e_φ(F_o(o)) = F_l(e_φ(o)), eq. 4: an SE-CNN for the image, an SE-MLP beside it."""

    def __init__(
        self,
        size: tuple[int, int],
        channels: Sequence[int],
        prop: Rep,
        hidden: int,
        *,
        equivariant: bool,
    ) -> None:
        super().__init__()
        self.equivariant = equivariant
        # Without the plane of ones, a wall at 1 m and one at 2 m would look the same after the
        # norm.
        self.image = ConvTrunk(size, channels, ones=True, equivariant=equivariant)
        self.prop = MLP(prop, (hidden, hidden), act="silu", norm=True, equivariant=equivariant)

    @property
    def rep(self) -> Rep:
        return regular((self.image.features + self.prop.rep_out.dim) // 2)

    def forward(self, depth: Tensor, prop: Tensor) -> Tensor:
        """[..., rows, cols] in the networks' range and [..., d] -> [..., E]."""
        seen = self.image(depth.unsqueeze(-3))
        felt = self.prop(prop.clamp(-PROP_CLIP, PROP_CLIP))
        sides = cat(views_of(seen, self.equivariant), views_of(felt, self.equivariant))
        return torch.cat(sides, -1)
