"""A `ConvTrunk` for one image at a time on a CPU: every layer is one product, both views in one.

A patch of 4 x 4 pixels is a row of a matrix, so that a convolution of one small image, whose stock
kernels take most of their time to prepare, is a copy and a product. Equal up to rounding.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.nn.conv import KERNEL, PADDING, STRIDE, ConvTrunk, ViewConv


class FastTrunk:
    """Images [N, H, W] -> [N, V, rows * cols * channels], the channels of a pixel side by side.

    It is for a trunk of one input channel with norms, whose views do not mix. It writes into
    tensors of its own: the next call overwrites what this one gives.
    """

    def __init__(self, trunk: ConvTrunk, n: int) -> None:
        assert trunk.image_shape[0] == 1
        self.act, self.views = trunk.act, 2 if trunk.equivariant else 1
        rows, cols = trunk.image_shape[1:]
        self.layers: list[_Layer] = []
        for layer in trunk.layers:
            assert isinstance(layer, ViewConv)
            self.layers.append(_Layer(layer, n * self.views, rows, cols, ones=trunk.ones))
            rows, cols = rows // STRIDE, cols // STRIDE
        self.channels = self.layers[-1].out.shape[-1]
        """Of each view."""
        self.image = self.layers[0].inner.squeeze(-1).unflatten(0, (n, self.views))

    def __call__(self, image: Tensor) -> Tensor:
        self.image[:, 0].copy_(image)
        if self.views == 2:
            self.image[:, 1].copy_(image.flip(-1))
        x = self.layers[0](self.act)
        for layer in self.layers[1:]:
            layer.inner.copy_(x)
            x = layer(self.act)
        return x.view(-1, self.views, x[0].numel())


class _Layer:
    """One convolution and its norm; `inner` is where the input goes, [B, rows, cols, channels]."""

    def __init__(self, layer: ViewConv, batch: int, rows: int, cols: int, *, ones: bool) -> None:
        assert layer.norm is not None
        assert layer.bias is None
        weight = layer.weight.detach()  # [out, in, 4, 4]
        first = ones and weight.shape[1] == 2
        shown = weight[:, :1] if first else weight
        channels = shown.shape[1]
        padded = torch.zeros(batch, rows + 2 * PADDING, cols + 2 * PADDING, channels)
        self.inner = padded[:, PADDING:-PADDING, PADDING:-PADDING]
        # Every patch of the padded image, by its strides: [B, rows / 2, cols / 2, 4, 4 * channels].
        high, wide, step = padded.stride()[:3]
        self.windows = padded.as_strided(
            (batch, rows // STRIDE, cols // STRIDE, KERNEL, KERNEL * channels),
            (high, STRIDE * wide, STRIDE * step, wide, 1),
        )
        self.patches = torch.zeros(self.windows.shape)
        self.flat = self.patches.view(-1, KERNEL * KERNEL * channels)
        self.weight = shown.permute(2, 3, 1, 0).reshape(self.flat.shape[1], -1).contiguous()
        self.out = torch.zeros(batch, rows // STRIDE, cols // STRIDE, len(weight))
        self.pixels = self.out.view(-1, len(weight))
        self.base = None
        if first:  # what the plane of ones adds is the same for every image
            plane = torch.ones(1, 1, rows, cols)
            said = F.conv2d(plane, weight[:, 1:], stride=STRIDE, padding=PADDING)
            self.base = said.permute(0, 2, 3, 1).expand(self.out.shape).reshape(self.pixels.shape)
        self.gain, self.eps = layer.norm.gain.detach(), layer.norm.eps

    def __call__(self, act: Callable[[Tensor], Tensor]) -> Tensor:
        self.patches.copy_(self.windows)
        if self.base is None:
            torch.mm(self.flat, self.weight, out=self.pixels)
        else:
            torch.addmm(self.base, self.flat, self.weight, out=self.pixels)
        return act(F.rms_norm(self.out, self.gain.shape, self.gain, self.eps))
