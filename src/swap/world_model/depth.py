"""Converts depth between metres, the camera's linear scale, the networks' range and a stored byte.

The networks' range is -0.5 (nearest) to 0.5 (farthest, or nothing seen), finer near than far:

    s = (z - near) / (far - near)        u = (1 + a) s / (s + a)        x = u - 1/2

With a = 0.25 a step of the byte is 4 mm at 0.15 m, 11 mm at 1 m, 24 mm at 2 m, 43 mm at 3 m and
95 mm at 5 m: below the standard deviation of the camera's own error (0.01 + 0.004 z² m) everywhere,
and from 1 m on a nearly constant share of it. So a byte loses no information, and an error of a
given size in x is equally surprising at any range. (With a linear code a step would be 19 mm at any
distance.)

The curve uses only sums, products and quotients, because those round alike wherever a pixel lies: a
mirrored image has the mirrored code, bit for bit.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

STEPS = 255


@dataclass(frozen=True)
class DepthCodec:
    """The camera's range, and how much finer near depths are coded than far ones."""

    near_m: float
    far_m: float
    bend: float
    """a: small is finer near, large is linear."""

    # --- to the networks' range -----------------------------------------------------------------
    def from_metres(self, z: Tensor) -> Tensor:
        return self.from_linear((z - self.near_m) / (self.far_m - self.near_m))

    def from_linear(self, share: Tensor) -> Tensor:
        """[0, 1] from the nearest to the farthest, as a camera's image gives it."""
        s = share.clamp(0.0, 1.0)
        return s * (1 + self.bend) / (s + self.bend) - 0.5

    def from_bytes(self, image: Tensor) -> Tensor:
        return image.to(torch.float32) / STEPS - 0.5

    # --- from the networks' range ---------------------------------------------------------------
    def to_bytes(self, x: Tensor) -> Tensor:
        """What a replay stores: uint8, the farthest exactly 255."""
        return ((x + 0.5) * STEPS).round().clamp(0, STEPS).to(torch.uint8)

    def to_linear(self, x: Tensor) -> Tensor:
        u = (x + 0.5).clamp(0.0, 1.0)
        return u * self.bend / (1 + self.bend - u)

    def to_metres(self, x: Tensor) -> Tensor:
        return self.near_m + self.to_linear(x) * (self.far_m - self.near_m)
