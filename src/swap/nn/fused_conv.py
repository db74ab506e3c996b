"""4 x 4 convolutions of stride 2, down and up, with norm and SiLU behind them, as Triton kernels.

Maps are [V, N, rows, columns, channels] in memory: both views go in one launch. It stays exact: an
output pixel is a sum over its own patch, in an order that does not depend on where the image lies
in the batch, and sums over pixels, for weights and gains, are taken for each view by itself, then
added to each other. The second view of an image is read from right to left, and never made.

Down is a convolution, and the way back through a transposed one; up is the other way round.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from swap.device import triton_launch
from swap.device.triton_launch import padded
from swap.nn import conv_kernels

TILE = 2048
"""Sums of a program, at a time: fewer pixels, if there are many channels."""
PROGRAMS = 512
"""At most so many share out the pixels of a view on the way back, each with sums of its own."""
DEPTH, STAGES = 64, 1
"""Entries of a patch that are multiplied at a time, and how many of such are on their way."""
SMALLEST = 16
"""What a GPU multiplies at least, along each axis."""
RAW, BIAS, BIAS_SILU, NORM_SILU, BIAS_SILU_BACK, NORM_SILU_BACK = range(6)
"""What is done to a sum before it is stored."""


class Map(NamedTuple):
    """A map in memory, and how it lies there."""

    x: Tensor
    rows: int
    columns: int
    channels: int
    flat: bool = False
    """[N, V, channels, rows, columns] instead: features as linear layers have them."""
    picture: bool = False
    """Pictures [N, rows, columns], of which every view is made as it is read; a second channel is
    ones."""

    @property
    def steps(self) -> dict[str, int]:
        """From view to view, image to image, pixel to pixel and channel to channel."""
        pixels = self.rows * self.columns
        size = pixels * self.channels
        if self.picture:
            return {"view": 0, "image": pixels, "pixel": 1, "channel": 0}
        if self.flat:
            return {"view": size, "image": self.x[0].numel(), "pixel": 1, "channel": pixels}
        return {
            "view": self.x[0].numel(), "image": size, "pixel": self.channels, "channel": 1,
        }  # fmt: skip


class Finish(NamedTuple):
    """What is done to a sum before it is stored, and with what."""

    kind: int = RAW
    tied: Tensor | None = None
    """[channels]: the bias or the gain."""
    before: Tensor | None = None
    """Sums as they were before: written on the way there, if given, and read on the way back."""
    eps: float = 0.0


def down(
    source: Map, weight: Tensor, out: Map, views: int, images: int, finish: Finish
) -> Tensor | None:
    """A convolution: weight [out, in, 4, 4]. Returns, on the way back, the gradient of bias or
    gain."""
    return _convolve(
        conv_kernels.down, source, weight.permute(2, 3, 1, 0), out, views, images, finish
    )


def up(
    source: Map, weight: Tensor, out: Map, views: int, images: int, finish: Finish
) -> Tensor | None:
    """A transposed convolution: weight [in, out, 4, 4]."""
    return _convolve(
        conv_kernels.up, source, weight.permute(2, 3, 0, 1), out, views, images, finish
    )


def _convolve(
    kernel: Any,
    source: Map,
    weight: Tensor,
    out: Map,
    views: int,
    images: int,
    finish: Finish,
) -> Tensor | None:
    small = min(source, out, key=lambda m: m.rows)
    constants = _constants(source, out)
    blocks = -(-images * small.rows * small.columns // constants["block"])
    back = finish.kind in (BIAS_SILU_BACK, NORM_SILU_BACK)
    turns = -(-blocks // PROGRAMS) if back else 1
    programs = -(-blocks // turns)
    sums = out.x.new_empty(views, programs, out.channels, dtype=torch.float32) if back else None
    if kernel is conv_kernels.down:
        constants |= {"image": source.picture}
    triton_launch.launch(
        kernel,
        views * programs,
        *(source.x, weight.contiguous(), out.x, finish.tied, finish.before, sums),
        *(images, programs, finish.eps),
        **constants,
        deep=_depth((16 if kernel is conv_kernels.down else 4) * source.channels),
        kind=finish.kind,
        turns=turns,
        stages=STAGES,
        warps=_warps(constants),
    )
    return None if sums is None else add_views(sums)


def weight_gradient(large: Map, small: Map, views: int, images: int) -> Tensor:
    """Of weight [small's channels, large's channels, 4, 4]: patches of the large map times pixels
    of the small one."""
    constants, deep = _constants(large, small), _depth(16 * large.channels)
    blocks = -(-images * small.rows * small.columns // constants["block"])
    turns = -(-blocks // (PROGRAMS // 4))
    splits = -(-blocks // turns)
    shape = small.channels, large.channels, 4, 4
    sums = large.x.new_empty(views, splits, *shape, dtype=torch.float32)
    triton_launch.launch(
        conv_kernels.weight_gradient,
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


def finish_back(source: Map, out: Map, views: int, images: int, finish: Finish) -> Tensor:
    """The way back through what `finish` did, without a convolution: gradients of a map in, those
    of the sums out. Returns the gradient of bias or gain."""
    constants = _constants(source, out)
    blocks = -(-images * out.rows * out.columns // constants["block"])
    turns = -(-blocks // PROGRAMS)
    programs = -(-blocks // turns)
    sums = out.x.new_empty(views, programs, out.channels, dtype=torch.float32)
    for name in ("channels", "exact"):
        constants.pop(name)
    triton_launch.launch(
        conv_kernels.finish_back,
        views * programs,
        *(source.x, out.x, finish.tied, finish.before, sums, images, programs, finish.eps),
        **constants,
        kind=finish.kind,
        turns=turns,
    )
    return add_views(sums)


def add_pictures(x: Tensor, factor: float) -> Tensor:
    """Pictures [V, N, rows, columns, 1] of the views, the second from right to left -> their sum,
    times a factor, [N, rows, columns]."""
    views, images, rows, columns, _ = x.shape
    if views == 1:
        return x.view(images, rows, columns)
    out = x.new_empty(images, rows, columns)
    launch, kernel = triton_launch.launch, conv_kernels.add_pictures
    launch(kernel, -(-out.numel() // TILE), x, out, out.numel(), factor, columns=columns, tile=TILE)
    return out


def sum_of_pictures(x: Tensor) -> Tensor:
    """[N, rows, columns] -> [1]: each pixel with its mirror image; all count twice, then half."""
    blocks = -(-x.numel() // TILE)
    turns = -(-blocks // PROGRAMS)
    programs, columns = -(-blocks // turns), x.shape[-1]
    sums = x.new_empty(1, programs, 1, dtype=torch.float32)
    launch, kernel = triton_launch.launch, conv_kernels.sum_both_ways
    launch(kernel, programs, x, sums, x.numel(), columns=columns, tile=TILE, turns=turns)
    return add_views(sums) / 2


def add_views(sums: Tensor) -> Tensor:
    """[V, S, ...] -> [...]: the sum over S of one view plus the other."""
    views, several, *shape = sums.shape
    out = sums.new_empty(shape)
    tile = min(64, padded(out.numel()))
    triton_launch.launch(
        conv_kernels.add_views,
        -(-out.numel() // tile),
        *(sums, out, out.numel(), several),
        tile=tile,
        deep=TILE // tile,
        turns=-(-several // (TILE // tile)),
        both=views == 2,
    )
    return out


def _constants(source: Map, out: Map) -> dict[str, Any]:
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
    """Of so many entries of a patch, how many are multiplied at a time."""
    return max(SMALLEST, min(DEPTH, padded(entries)))


def _warps(constants: dict[str, Any]) -> int:
    return 8 if constants["wide"] * constants["block"] > 64 * 64 else 4


def _exact(x: Tensor) -> bool:
    """Whether single precision is asked for, rather than TF32. An interpreter has no other."""
    single = x.dtype == torch.float32 and not torch.backends.cudnn.allow_tf32
    return single or triton_launch.INTERPRETED
