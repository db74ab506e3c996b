"""Runs a whole `ConvTrunk` or `ConvDecoder` with the kernels of `fused_conv`: one launch per layer
forward and two backward, for both views together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from swap.device import triton_launch
from swap.nn import fused_conv as conv
from swap.nn.fused_conv import Epilogue, FeatureMap

if TYPE_CHECKING:
    from swap.nn.conv import ConvDecoder, ConvTrunk, ViewConv


class Stack(NamedTuple):
    """Settings that all layers share."""

    views: int
    rows: int
    columns: int
    """Rows and columns are those of the largest map."""
    ones: bool = False
    """Whether the image has a second channel of ones."""
    eps: float | None = None
    """The norms' eps; None if the layers have biases instead of norms."""
    learn: bool = True
    """Keep what the backward pass needs."""

    def epilogue(self, tied: Tensor, before: Tensor | None) -> Epilogue:
        kind = conv.BIAS_SILU if self.eps is None else conv.NORM_SILU
        return Epilogue(kind, tied, before, self.eps or 0.0)

    def epilogue_back(self, tied: Tensor, before: Tensor) -> Epilogue:
        kind = conv.BIAS_SILU_BACK if self.eps is None else conv.NORM_SILU_BACK
        return Epilogue(kind, tied, before, self.eps or 0.0)

    def new_map(self, like: Tensor, images: int, halvings: int, channels: int) -> FeatureMap:
        """A new map, the largest one's size halved `halvings` times."""
        rows, columns = self.rows >> halvings, self.columns >> halvings
        x = like.new_empty(self.views, images, rows, columns, channels)
        return FeatureMap(x, rows, columns, channels)


def trunk_fits(trunk: "ConvTrunk", image: Tensor) -> bool:
    fits = trunk.image_shape[0] == 1 and trunk.act is F.silu
    return fits and triton_launch.usable("conv", image)


def decoder_fits(decoder: "ConvDecoder", features: Tensor) -> bool:
    one = decoder.image_channels == 1
    fits = one and decoder.act is F.silu
    return fits and triton_launch.usable("conv", features)


def run_trunk(trunk: "ConvTrunk", image: Tensor) -> Tensor:
    """Encode images [N, 1, rows, columns] as features [N, ...]."""
    weights, tied, eps = _parameters(trunk.layers)  # type: ignore[arg-type]
    views = 2 if trunk.equivariant else 1
    learn = torch.is_grad_enabled()
    cfg = Stack(views, *trunk.image_shape[1:], ones=trunk.ones, eps=eps, learn=learn)
    image, *weights = _cast(image.squeeze(1).contiguous(), *weights)
    out: Tensor = _Trunk.apply(image, cfg, len(weights), *weights, *tied)
    return out


def run_decoder(decoder: "ConvDecoder", features: Tensor) -> Tensor:
    """Decode features [N, ...], the first layer's channels, to images [N, 1, rows, columns]."""
    *layers, last = decoder.layers
    weights, tied, eps = _parameters(layers)  # type: ignore[arg-type]
    many = 2 ** len(decoder.layers)
    size = decoder.start[0] * many, decoder.start[1] * many
    views, learn = 2 if decoder.equivariant else 1, torch.is_grad_enabled()
    cfg = Stack(views, *size, eps=eps, learn=learn)
    features, *weights = _cast(features, *weights, last.weight)  # type: ignore[arg-type]
    out: Tensor = _Decoder.apply(
        features, cfg, decoder.start, len(weights), *weights, *tied, last.bias
    )
    return out.unsqueeze(1)


def _parameters(layers: Sequence["ViewConv"]) -> tuple[list[Tensor], list[Tensor], float | None]:
    """The weights, the gains or biases, and the norms' eps if there are norms."""
    weights: list[Tensor] = [layer.weight for layer in layers]
    gains = [layer.norm.gain for layer in layers if layer.norm is not None]
    if gains:
        norm = layers[0].norm
        assert norm is not None
        return weights, [*gains], norm.eps
    return weights, [layer.bias for layer in layers if layer.bias is not None], None


def _cast(*several: Tensor) -> list[Tensor]:
    kind = several[0].device.type
    if not torch.is_autocast_enabled(kind):
        return list(several)
    return [x.to(torch.get_autocast_dtype(kind)) for x in several]


def _given(x: Tensor | None) -> list[Tensor]:
    return [] if x is None else [x]


class _Trunk(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, image: Tensor, cfg: Stack, layers: int, *parameters: Tensor) -> Tensor:
        weights, tied = parameters[:layers], parameters[layers:]
        images, learn = len(image), cfg.learn
        maps = [FeatureMap(image, cfg.rows, cfg.columns, 1 + cfg.ones, picture=True)]
        sums: list[Tensor] = []
        for k, (weight, each) in enumerate(zip(weights, tied, strict=True)):
            out = cfg.new_map(image, images, k + 1, len(weight))
            before = torch.empty_like(out.x) if learn else None
            if k == layers - 1:
                out = out._replace(x=image.new_empty(images, cfg.views * out.x[0, 0].numel()))
                out = out._replace(flat=True)
            conv.down(maps[-1], weight, out, cfg.views, images, cfg.epilogue(each, before))
            maps.append(out)
            sums += _given(before)
        ctx.cfg, ctx.shapes = cfg, [m[1:] for m in maps]
        ctx.save_for_backward(*parameters, *(m.x for m in maps[:-1]), *sums)
        return maps[-1].x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dout: Tensor) -> Any:
        cfg, shapes = ctx.cfg, ctx.shapes
        layers = len(shapes) - 1
        saved = ctx.saved_tensors
        weights, tied = saved[:layers], saved[layers : 2 * layers]
        maps = [
            FeatureMap(x, *m) for x, m in zip(saved[2 * layers : 3 * layers], shapes, strict=False)
        ]
        sums = saved[3 * layers :]
        images = len(dout)
        source = FeatureMap(dout.contiguous(), *shapes[-1])
        d = source._replace(x=torch.empty_like(sums[-1]), flat=False)
        epilogue = cfg.epilogue_back(tied[-1], sums[-1])
        dweights, dtied = [], [conv.epilogue_back(source, d, cfg.views, images, epilogue)]
        for k in reversed(range(layers)):
            gradient = conv.weight_gradient(maps[k], d, cfg.views, images)
            dweights.append(gradient.to(weights[k].dtype))
            if k:
                new = maps[k]._replace(x=torch.empty_like(sums[k - 1]))
                epilogue = cfg.epilogue_back(tied[k - 1], sums[k - 1])
                dtied += _given(conv.up(d, weights[k], new, cfg.views, images, epilogue))
                d = new
        dimage = None
        if ctx.needs_input_grad[0]:
            seen = cfg.new_map(dout, images, 0, 1)
            conv.up(d, weights[0][:, :1], seen, cfg.views, images, Epilogue())
            dimage = conv.add_pictures(seen.x, 1.0)
        return dimage, None, None, *reversed(dweights), *reversed(dtied)


class _Decoder(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        cfg: Stack,
        start: tuple[int, int],
        layers: int,
        *parameters: Tensor,
    ) -> Tensor:
        weights, tied, bias = parameters[:layers], parameters[layers:-1], parameters[-1]
        images, learn = len(features), cfg.learn
        channels = len(weights[0])
        maps = [FeatureMap(features.contiguous(), *start, channels, flat=True)]
        sums: list[Tensor] = []
        for k, weight in enumerate(weights):
            out = cfg.new_map(features, images, layers - 1 - k, weight.shape[1])
            if k == layers - 1:
                epilogue = Epilogue(conv.BIAS, bias)
            else:
                before = torch.empty_like(out.x) if learn else None
                epilogue = cfg.epilogue(tied[k], before)
                sums += _given(before)
            conv.up(maps[-1], weight, out, cfg.views, images, epilogue)
            maps.append(out)
        ctx.cfg, ctx.shapes = cfg, [m[1:] for m in maps]
        ctx.save_for_backward(*parameters, *(m.x for m in maps[:-1]), *sums)
        return conv.add_pictures(maps[-1].x, 1 / cfg.views)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, dout: Tensor) -> Any:
        cfg, shapes = ctx.cfg, ctx.shapes
        layers = len(shapes) - 1
        saved = ctx.saved_tensors
        weights, tied = saved[:layers], saved[layers : 2 * layers - 1]
        maps = [
            FeatureMap(x, *m) for x, m in zip(saved[2 * layers : 3 * layers], shapes, strict=False)
        ]
        sums = saved[3 * layers :]
        images = len(dout)
        # Each view gets half of the image's gradient, the second one flipped.
        share = 1 / cfg.views
        d = FeatureMap(dout.contiguous(), cfg.rows, cfg.columns, 1, picture=True)
        dbias = conv.sum_of_pictures(d.x)
        dweights: list[Tensor] = []
        dtied: list[Tensor] = []
        for k in reversed(range(layers)):
            last = k == layers - 1
            gradient = conv.weight_gradient(d, maps[k], cfg.views, images)
            dweights.append((gradient * share if last else gradient).to(weights[k].dtype))
            weight = weights[k] * share if last else weights[k]
            new = maps[k]._replace(x=torch.empty_like(maps[k].x))
            epilogue = cfg.epilogue_back(tied[k - 1], sums[k - 1]) if k else Epilogue()
            dtied += _given(conv.down(d, weight, new, cfg.views, images, epilogue))
            d = new
        return d.x, None, None, None, *reversed(dweights), *reversed(dtied), dbias
