"""Builds the world model's encoder: ours, or one that the user names.

An encoder of your own is a `torch.nn.Module` whose constructor takes an `EncoderSpec`, named by an
import string: see docs/extend.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from swap.errors import UserError
from swap.nn.mirror_check import Mirror, check_network
from swap.registry import Registry, guarded
from swap.symmetry import Rep
from swap.world_model.encoder import Encoder


@dataclass(frozen=True)
class EncoderSpec:
    """What an encoder must fit: it maps [..., rows, cols] and [..., prop.dim] to [..., rep.dim].
    Its own attribute `rep` says how embeddings mirror."""

    image: tuple[int, int]
    """Rows and columns of the depth image, which is mirrored by its columns."""
    prop: Rep
    """How proprioception mirrors."""
    channels: tuple[int, ...]
    """Channels of the image layers, from the config; an encoder may ignore them."""
    hidden: int
    """Width of the layers for proprioception, from the config; an encoder may ignore it."""
    equivariant: bool
    """False: the encoder need not be equivariant."""


Build = Callable[[EncoderSpec], Encoder]
"""Builds an encoder, or any module that can be called like one."""


def cnn(spec: EncoderSpec) -> Encoder:
    return Encoder(spec.image, spec.channels, spec.prop, spec.hidden, equivariant=spec.equivariant)


def accept(found: object, name: str, where: str) -> Build:
    """Accepts a user's class: every encoder it builds is tested for the mirror."""
    if not callable(found):
        raise UserError(f"{where} is a {type(found).__name__}; make it a class of encoders")
    build: Build = guarded(found, where)

    def checked(spec: EncoderSpec) -> Encoder:
        net = build(spec)
        rep = getattr(net, "rep", None)
        if not isinstance(rep, Rep):
            raise UserError(
                f"{where} has no attribute rep; say how its outputs mirror, e.g. "
                "self.rep = swap.symmetry.regular(256)"
            )
        mirrors: list[Mirror] | None = [_flip, spec.prop] if spec.equivariant else None
        shapes, plain = [spec.image, (spec.prop.dim,)], "--model.net.no-equivariant"
        check_network(net, shapes, mirrors, rep, what=where, plain=plain)
        return net

    return checked


def _flip(image: Tensor) -> Tensor:
    return image.flip(-1)


ENCODERS: Registry[Build] = Registry(
    "encoder", "swap.encoders", accept, how="--model.net.encoder {}"
)
ENCODERS.add("cnn", cnn)
