"""Builds the network of an actor or a critic: ours, or one that the user names.

A network of your own is a `torch.nn.Module` whose constructor takes a `NetworkSpec`, named by an
import string: see docs/extend.md. It does not replace the normaliser before it or the std of
actions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from swap.errors import UserError
from swap.nn import MLP
from swap.nn.mirror_check import check_network
from swap.registry import Registry, guarded
from swap.symmetry import Rep


@dataclass(frozen=True)
class NetworkSpec:
    """What a network must fit: it maps [..., rep_in.dim] to [..., rep_out.dim]."""

    rep_in: Rep
    """How its inputs mirror: normalised observations."""
    rep_out: Rep
    """How its outputs must mirror: mean actions, or a value, which stays the same."""
    hidden: tuple[int, ...]
    """Hidden widths from the config; a network may ignore them."""
    act: str
    """Non-linearity."""
    out_gain: float
    """Factor by which the initial weights of the last layer should be smaller than usual, because
    the first actions should hardly move the robot."""
    equivariant: bool
    """False: the network need not be equivariant."""


Build = Callable[[NetworkSpec], nn.Module]


def mlp(spec: NetworkSpec) -> MLP:
    return MLP(
        spec.rep_in,
        spec.hidden,
        spec.rep_out,
        act=spec.act,
        out_gain=spec.out_gain,
        equivariant=spec.equivariant,
    )


def accept(found: object, name: str, where: str) -> Build:
    """Accepts a user's class: every network it builds is tested for the mirror."""
    if not callable(found):
        raise UserError(f"{where} is a {type(found).__name__}; make it a class of networks")
    build: Build = guarded(found, where)

    def checked(spec: NetworkSpec) -> nn.Module:
        net = build(spec)
        mirrors = [spec.rep_in] if spec.equivariant else None
        plain = "--policy.no-equivariant"
        check_network(net, [(spec.rep_in.dim,)], mirrors, spec.rep_out, what=where, plain=plain)
        return net

    return checked


NETWORKS: Registry[Build] = Registry(
    "network", "swap.networks", accept, how="--policy.actor {} or --policy.critic {}"
)
NETWORKS.add("mlp", mlp)
