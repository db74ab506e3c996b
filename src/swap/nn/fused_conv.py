"""Runs 4 x 4 convolutions of stride 2, with the norm and SiLU after them, as Triton kernels.

Maps are [V, N, rows, columns, channels] in memory, and one launch computes both views. The mirror
stays exact: an output pixel is a sum over its own patch, in an order that does not depend on the
image's position in the batch, and sums over pixels (for weights and gains) are taken for each view
separately, then added. The second view of an image is never stored: the image is read from right
to left.

`down` is a convolution, and the backward pass of a transposed one; `up` is the reverse.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import padded
from swap.nn import conv_backward_kernels, conv_kernels

TILE = 2048
"""How many sums a program holds at a time; with many channels it therefore takes fewer pixels."""
PROGRAMS = 512
"""The most programs that share a view's pixels in the backward pass, each with its own sums."""
DEPTH, STAGES = 64, 1
"""How many entries of a patch are multiplied at a time, and how many such loads are in flight."""
SMALLEST = 16
"""The smallest side of a matrix product on a GPU."""
RAW, BIAS, BIAS_SILU, NORM_SILU, BIAS_SILU_BACK, NORM_SILU_BACK = range(6)
"""What is done to a sum before it is stored."""


class FeatureMap(NamedTuple):
    """A feature map and its memory layout."""

    x: Tensor
    rows: int
    columns: int
    channels: int
    flat: bool = False
    """The layout is [N, V, channels, rows, columns] instead: features as linear layers use them."""
    picture: bool = False
    """The map is images [N, rows, columns]; views are made while reading, and a second channel is
    all ones."""

    @property
    def steps(self) -> dict[str, int]:
        """The strides from view to view, image to image, pixel to pixel and channel to channel."""
        pixels = self.rows * self.columns
        size = pixels * self.channels
        if self.picture:
            return {"view": 0, "image": pixels, "pixel": 1, "channel": 0}
        if self.flat:
            return {"view": size, "image": self.x[0].numel(), "pixel": 1, "channel": pixels}
        return {
            "view": self.x[0].numel(), "image": size, "pixel": self.channels, "channel": 1,
        }  # fmt: skip


class Epilogue(NamedTuple):
    """What is done to a sum before it is stored, and the tensors for it."""

    kind: int = RAW
    tied: Tensor | None = None
    """[channels]: the bias or the gain."""
    before: Tensor | None = None
    """The sums before this step: written in the forward pass, if given, and read in the backward.
    """
    eps: float = 0.0


def down(
    source: FeatureMap, weight: Tensor, out: FeatureMap, views: int, images: int, epilogue: Epilogue
) -> Tensor | None:
    """Convolve with weight [out, in, 4, 4]. In a backward pass, return the gradient of bias or
    gain."""
    return _convolve(
        conv_kernels.down, source, weight.permute(2, 3, 1, 0), out, views, images, epilogue
    )


def up(
    source: FeatureMap, weight: Tensor, out: FeatureMap, views: int, images: int, epilogue: Epilogue
) -> Tensor | None:
    """Run a transposed convolution with weight [in, out, 4, 4]."""
    return _convolve(
        conv_kernels.up, source, weight.permute(2, 3, 0, 1), out, views, images, epilogue
    )


def _convolve(
    kernel: Any,
    source: FeatureMap,
    weight: Tensor,
    out: FeatureMap,
    views: int,
    images: int,
    epilogue: Epilogue,
) -> Tensor | None:
    small = min(source, out, key=lambda m: m.rows)
    constants = _constants(source, out)
    blocks = -(-images * small.rows * small.columns // constants["block"])
    back = epilogue.kind in (BIAS_SILU_BACK, NORM_SILU_BACK)
    turns = -(-blocks // PROGRAMS) if back else 1
    programs = -(-blocks // turns)
    sums = out.x.new_empty(views, programs, out.channels, dtype=torch.float32) if back else None
    if kernel is conv_kernels.down:
        constants |= {"image": source.picture}
    triton_launch.launch(
        kernel,
        views * programs,
        *(source.x, weight.contiguous(), out.x, epilogue.tied, epilogue.before, sums),
        *(images, programs, epilogue.eps),
        **constants,
        deep=_depth((16 if kernel is conv_kernels.down else 4) * source.channels),
        kind=epilogue.kind,
        turns=turns,
        stages=STAGES,
        warps=_warps(constants),
    )
    return None if sums is None else add_views(sums)


def weight_gradient(large: FeatureMap, small: FeatureMap, views: int, images: int) -> Tensor:
    """The gradient of a weight [small's channels, large's channels, 4, 4]: patches of the large map
    times pixels of the small one."""
    constants, deep = _constants(large, small), _depth(16 * large.channels)
    blocks = -(-images * small.rows * small.columns // constants["block"])
    turns = -(-blocks // (PROGRAMS // 4))
    splits = -(-blocks // turns)
    shape = small.channels, large.channels, 4, 4
    sums = large.x.new_empty(views, splits, *shape, dtype=torch.float32)
    triton_launch.launch(
        conv_backward_kernels.weight_gradient,
        views * splits * -(-16 * large.channels // deep),
        *(large.x, small.x, sums, images),
        **constants,
        deep=deep,
        splits=splits,
        turns=turns,
        image=large.picture,
        stages=1,
        warps=_warps(constants),
    )
    return add_views(sums)


def epilogue_back(
    source: FeatureMap, out: FeatureMap, views: int, images: int, epilogue: Epilogue
) -> Tensor:
    """Backpropagate through `epilogue` alone, without a convolution: turn a map's gradients into
    those of the sums. Returns the gradient of bias or gain."""
    constants = _constants(source, out)
    blocks = -(-images * out.rows * out.columns // constants["block"])
    turns = -(-blocks // PROGRAMS)
    programs = -(-blocks // turns)
    sums = out.x.new_empty(views, programs, out.channels, dtype=torch.float32)
    for name in ("channels", "exact"):
        constants.pop(name)
    triton_launch.launch(
        conv_backward_kernels.epilogue_back,
        views * programs,
        *(source.x, out.x, epilogue.tied, epilogue.before, sums, images, programs, epilogue.eps),
        **constants,
        kind=epilogue.kind,
        turns=turns,
    )
    return add_views(sums)


def add_pictures(x: Tensor, factor: float) -> Tensor:
    """Add the views' images [V, N, rows, columns, 1], the second one flipped, and multiply by
    `factor`: [N, rows, columns]."""
    views, images, rows, columns, _ = x.shape
    if views == 1:
        return x.view(images, rows, columns)
    out = x.new_empty(images, rows, columns)
    launch, kernel = triton_launch.launch, conv_backward_kernels.add_pictures
    launch(kernel, -(-out.numel() // TILE), x, out, out.numel(), factor, columns=columns, tile=TILE)
    return out


def sum_of_pictures(x: Tensor) -> Tensor:
    """The sum of images [N, rows, columns], as [1]. Each pixel is added to its mirror image first;
    this counts all pixels twice, so the sum is halved."""
    blocks = -(-x.numel() // TILE)
    turns = -(-blocks // PROGRAMS)
    programs, columns = -(-blocks // turns), x.shape[-1]
    sums = x.new_empty(1, programs, 1, dtype=torch.float32)
    launch, kernel = triton_launch.launch, conv_backward_kernels.sum_both_ways
    launch(kernel, programs, x, sums, x.numel(), columns=columns, tile=TILE, turns=turns)
    return add_views(sums) / 2


def add_views(sums: Tensor) -> Tensor:
    """Sum [V, S, ...] over the views, then over S: [...]."""
    views, several, *shape = sums.shape
    out = sums.new_empty(shape)
    tile = min(64, padded(out.numel()))
    triton_launch.launch(
        conv_backward_kernels.add_views,
        -(-out.numel() // tile),
        *(sums, out, out.numel(), several),
        tile=tile,
        deep=TILE // tile,
        turns=-(-several // (TILE // tile)),
        both=views == 2,
    )
    return out


def _constants(source: FeatureMap, out: FeatureMap) -> dict[str, Any]:
    wide = max(SMALLEST, padded(out.channels))
    return {
        "rows": source.rows,
        "columns": source.columns,
        "channels": source.channels,
        "outputs": out.channels,
        "wide": wide,
        **{f"x_{name}": step for name, step in source.steps.items()},
        **{f"out_{name}": step for name, step in out.steps.items()},
        "block": max(64, min(128, TILE // wide)),
        "exact": _exact(source.x),
    }


def _depth(entries: int) -> int:
    """How many of a patch's entries are multiplied at a time."""
    return max(SMALLEST, min(DEPTH, padded(entries)))


def _warps(constants: dict[str, Any]) -> int:
    return 8 if constants["wide"] * constants["block"] > 64 * 64 else 4


def _exact(x: Tensor) -> bool:
    """Whether to use full single precision, not TF32, which the interpreter does not have."""
    single = x.dtype == torch.float32 and not torch.backends.cudnn.allow_tf32
    return single or triton_launch.INTERPRETED
