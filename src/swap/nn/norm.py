"""Equivariant RMS norms: over all features of both views, and over the channels of one view.

A layer norm over both views at once would add squares in an order that depends on which view comes
first. Here each view is summed separately and the two sums are added, which commutes.
"""

import torch
from torch import Tensor, nn

from swap.nn.views import Parts, halves, per_view


class RMSNorm(nn.Module):
    """Divides views by the root mean square of all their features, times a gain that they share."""

    def __init__(self, width: int, *, eps: float = 1e-6, equivariant: bool = True) -> None:
        super().__init__()
        self.width, self.eps = width, eps
        self.gain = nn.Parameter(torch.ones(halves(width, "width") if equivariant else width))

    def forward(self, views: Parts) -> Parts:
        wide = [_at_least_float32(v) for v in views]
        squares = [v.square().sum(-1, keepdim=True) for v in wide]
        total = squares[0] if len(squares) == 1 else squares[0] + squares[1]
        inverse = torch.rsqrt(total / self.width + self.eps)
        gains = per_view(self.gain, len(views))
        return tuple((v * inverse * g).to(views[0].dtype) for v, g in zip(wide, gains, strict=True))

    @torch.no_grad()
    def dense(self) -> "RMSNorm":
        """The plain norm with the tied gain written out for both views."""
        plain = RMSNorm(self.width, eps=self.eps, equivariant=False).to(self.gain)
        plain.gain.copy_(self.gain.repeat(self.width // len(self.gain)))
        return plain


class ChannelNorm(nn.Module):
    """Divides each pixel of one view's images [B, C, H, W] by the RMS of its channels.

    The gain is passed as an argument, because views share it (see `per_view`).
    """

    def __init__(self, channels: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor, gain: Tensor) -> Tensor:
        wide = _at_least_float32(x)
        power = wide.square().mean(1, keepdim=True)
        return (wide * torch.rsqrt(power + self.eps) * gain[:, None, None]).to(x.dtype)


def _at_least_float32(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
