"""Layers that are exactly equivariant, each with a plain twin (`equivariant=False`). Read in order:

views -> basis -> init -> linear -> norm -> mlp -> conv -> gru -> stacked -> categorical -> orbits
-> gaussian -> running_norm

Then what replaces them on a GPU: fused_hidden, fused_basis and fused_mlp (mlp); fused_norm,
fused_conv and fused_trunk (conv); fused_gates (gru); fused_draw (categorical); fused_statistics
(running_norm). Their Triton kernels are in the same files or, where these would be long, in
hidden_kernels, gate_kernels, conv_kernels and conv_backward_kernels; kernel_math has what they
share.
"""

from swap.nn.basis import Basis
from swap.nn.categorical import Categoricals
from swap.nn.conv import ConvDecoder, ConvTrunk
from swap.nn.gaussian import Gaussian, GaussianHead
from swap.nn.gru import GRUCell
from swap.nn.linear import InvariantHead, Linear
from swap.nn.mlp import MLP
from swap.nn.norm import ChannelNorm, RMSNorm
from swap.nn.orbits import Orbits
from swap.nn.running_norm import RunningNorm
from swap.nn.stacked import Butterfly, StackedLinear

__all__ = [
    "MLP",
    "Basis",
    "Butterfly",
    "Categoricals",
    "ChannelNorm",
    "ConvDecoder",
    "ConvTrunk",
    "GRUCell",
    "Gaussian",
    "GaussianHead",
    "InvariantHead",
    "Linear",
    "Orbits",
    "RMSNorm",
    "RunningNorm",
    "StackedLinear",
]
