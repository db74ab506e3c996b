"""Encodes and decodes images in two views: the image and the flipped image.

Every equivariant map from images to regular features is (f(x), f(flip x)) for some plain f. So each
view is an ordinary feature map, the second one in mirrored coordinates, and mirroring the image
only swaps the views. Standard convolutions suffice: no flipped kernels, and no condition on stride,
padding or image width. The views meet after the trunk, so it takes half the FLOPs of a plain one.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swap.errors import UserError
from swap.nn import fused_trunk
from swap.nn.fused_norm import fits, norm_silu
from swap.nn.init import activation, gain
from swap.nn.linear import Linear
from swap.nn.norm import ChannelNorm
from swap.nn.views import Parts, halves, per_view
from swap.symmetry import Rep, regular

KERNEL, STRIDE, PADDING = 4, 2, 1
"""Each layer halves the image; in the decoder it doubles it [WMP]."""


class ViewConv(nn.Module):
    """One convolution, or one transposed convolution, shared by the views."""

    def __init__(self, c_in: int, c_out: int, strength: float, *, up: bool, norm: bool) -> None:
        super().__init__()
        self.up = up
        shape = (c_in, c_out) if up else (c_out, c_in)
        # In a transposed convolution of stride s an output pixel reads (k/s)² inputs per channel.
        reads = c_in * (KERNEL // STRIDE if up else KERNEL) ** 2
        self.weight = nn.Parameter(torch.randn(*shape, KERNEL, KERNEL) * strength * reads**-0.5)
        self.bias = nn.Parameter(torch.zeros(c_out)) if not norm else None
        self.norm = ChannelNorm(c_out) if norm else None

    def forward(self, views: Parts, act: Callable[[Tensor], Tensor]) -> Parts:
        n = len(views)
        weights = per_view(self.weight, n)
        biases = (None,) * n if self.bias is None else per_view(self.bias, n)
        conv = F.conv_transpose2d if self.up else F.conv2d
        # With channels last in memory a GPU's convolutions are fastest.
        views = tuple(v.contiguous(memory_format=torch.channels_last) for v in views)
        # One call per view: in a joint batch, a row's position could change its rounding.
        out = tuple(
            conv(v, w, b, stride=STRIDE, padding=PADDING)
            for v, w, b in zip(views, weights, biases, strict=True)
        )
        if self.norm is None:
            return tuple(act(v) for v in out)
        gains = per_view(self.norm.gain, n)
        if fits(out[0], act):
            return tuple(norm_silu(v, g, self.norm.eps) for v, g in zip(out, gains, strict=True))
        return tuple(act(self.norm(v, g)) for v, g in zip(out, gains, strict=True))


class ConvTrunk(nn.Module):
    """Encodes images [B, c, H, W] as flat regular features. `channels` count both views.

    `ones` adds a channel of ones to the image. Norms make features independent of the scale of
    their input; with this channel they still see its absolute value.
    """

    def __init__(
        self,
        size: tuple[int, int] = (64, 64),
        channels: Sequence[int] = (32, 64, 128, 256),
        *,
        image_channels: int = 1,
        ones: bool = False,
        act: str = "silu",
        norm: bool = True,
        equivariant: bool = True,
    ) -> None:
        super().__init__()
        check_image_size(size, channels)
        self.image_shape, self.ones = (image_channels, *size), ones
        self.act, self.equivariant = activation(act), equivariant
        self.layers = nn.ModuleList()
        c_in, strength, (rows, cols) = image_channels + ones, 1.0, size
        for width in channels:
            c_out = halves(width, "channels") if equivariant else width
            self.layers.append(ViewConv(c_in, c_out, strength, up=False, norm=norm))
            c_in, strength = c_out, gain(act)
            rows, cols = rows // STRIDE, cols // STRIDE
        self.features = channels[-1] * rows * cols

    @property
    def rep(self) -> Rep:
        return regular(self.features // 2)

    def forward(self, image: Tensor) -> Tensor:
        if image.shape[-3:] != self.image_shape:
            raise UserError(
                f"this trunk reads images {list(self.image_shape)}, got {list(image.shape[-3:])}; "
                "pass [..., channels, rows, columns]"
            )
        lead = image.shape[:-3]
        image = image.reshape(-1, *self.image_shape)
        if fused_trunk.trunk_fits(self, image):
            return fused_trunk.run_trunk(self, image).unflatten(0, lead)
        image = self._with_ones(image)
        views: Parts = (image, image.flip(-1)) if self.equivariant else (image,)
        for layer in self.layers:
            views = layer(views, self.act)
        return torch.cat([v.flatten(1) for v in views], -1).unflatten(0, lead)

    def _with_ones(self, image: Tensor) -> Tensor:
        return torch.cat((image, torch.ones_like(image[:, :1])), 1) if self.ones else image

    def dense(self) -> nn.Module:
        """The same function with both views in one batch: standard layers, half the calls."""
        return _OneBatch(self) if self.equivariant else self


class _OneBatch(nn.Module):
    """Runs a two-view trunk as a plain one, on a batch of both views; equal up to rounding."""

    def __init__(self, trunk: ConvTrunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, image: Tensor) -> Tensor:
        x = self.trunk._with_ones(image.reshape(-1, *self.trunk.image_shape))
        x = torch.cat((x, x.flip(-1)))
        for layer in self.trunk.layers:
            (x,) = layer((x,), self.trunk.act)
        left, right = x.flatten(1).chunk(2)
        return torch.cat((left, right), -1).unflatten(0, image.shape[:-3])


class ConvDecoder(nn.Module):
    """Decodes features of any Rep to images [B, c, H, W]; each pixel is the mean of both views."""

    def __init__(
        self,
        rep_in: Rep,
        size: tuple[int, int] = (64, 64),
        channels: Sequence[int] = (256, 128, 64, 32),
        *,
        image_channels: int = 1,
        act: str = "silu",
        norm: bool = True,
        equivariant: bool = True,
    ) -> None:
        super().__init__()
        check_image_size(size, channels)
        self.act, self.equivariant = activation(act), equivariant
        self.image_channels = image_channels
        shrink = STRIDE ** len(channels)
        self.start = (size[0] // shrink, size[1] // shrink)
        c_in = halves(channels[0], "channels") if equivariant else channels[0]
        wide = regular(channels[0] * self.start[0] * self.start[1] // 2)
        self.lift = Linear(rep_in, wide, equivariant=equivariant)
        self.layers = nn.ModuleList()
        strength = 1.0
        for k, width in enumerate([*channels[1:], image_channels]):
            last = k == len(channels) - 1
            c_out = halves(width, "channels") if equivariant and not last else width
            self.layers.append(ViewConv(c_in, c_out, strength, up=True, norm=norm and not last))
            c_in, strength = c_out, gain(act)

    def forward(self, features: Tensor) -> Tensor:
        lead = features.shape[:-1]
        flat = self.lift(features.reshape(-1, features.shape[-1]))
        if fused_trunk.decoder_fits(self, flat):
            return fused_trunk.run_decoder(self, flat).unflatten(0, lead)
        sides = flat.chunk(2, -1) if self.equivariant else (flat,)
        views: Parts = tuple(v.unflatten(-1, (-1, *self.start)) for v in sides)
        for layer in self.layers[:-1]:
            views = layer(views, self.act)
        views = self.layers[-1](views, activation("identity"))
        image = views[0] if len(views) == 1 else (views[0] + views[1].flip(-1)) / 2
        return image.unflatten(0, lead)


def check_image_size(size: tuple[int, int], channels: Sequence[int]) -> None:
    """Raise a UserError if images of this size cannot be halved once per layer."""
    if not channels:
        raise UserError("a trunk needs channels, e.g. (32, 64, 128, 256)")
    shrink = STRIDE ** len(channels)
    for side in size:
        if side <= 0 or side % shrink:
            use = max(1, round(side / shrink)) * shrink
            raise UserError(
                f"image size {size[0]}x{size[1]} does not halve {len(channels)} times; "
                f"use a multiple of {shrink}, e.g. {use}, or fewer layers"
            )
