"""The decoder: predicts clean depth, proprioception and the heights around body and feet from a
latent."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, nn

from swap.nn import MLP, ConvDecoder
from swap.symmetry import Layout, regular
from swap.world_model.rssm import Latent


class Reconstruction(NamedTuple):
    """What the decoder predicts, in the units of the observations."""

    depth: Tensor  # [..., rows, cols], in the networks' range
    prop: Tensor  # [..., 33]
    body: Tensor  # [..., 286], m
    foot: Tensor  # [..., 100], m


class Decoder(nn.Module):
    """d_φ(F_l(h), F_l(z)) = F_x(d_φ(h, z)), eq. 8: an SE-CNN for the image, an SE-MLP for the rest.

    Both read the same features of the latent, so that the widest layer exists only once.
    """

    def __init__(
        self,
        size: tuple[int, int],
        channels: Sequence[int],
        latent: int,
        hidden: int,
        targets: Sequence[Layout],
        *,
        equivariant: bool,
    ) -> None:
        super().__init__()
        self.equivariant, self.widths = equivariant, [layout.dim for layout in targets]
        rep = targets[0].rep
        for layout in targets[1:]:
            rep = rep + layout.rep
        self.read = MLP(
            regular(latent // 2), (hidden,), act="silu", norm=True, equivariant=equivariant
        )
        wide = self.read.rep_out
        self.image = ConvDecoder(wide, size, channels, equivariant=equivariant)
        self.vectors = MLP(wide, (hidden,), rep, act="silu", norm=True, equivariant=equivariant)

    def forward(self, latent: Latent) -> Reconstruction:
        features = self.read.from_several(*latent)
        vectors = self.vectors(features).split(self.widths, -1)
        return Reconstruction(self.image(features).squeeze(-3), *vectors)
