"""Draws every random number of the environment from one seed, and knows how each of them mirrors.

Every draw names its Rep. A test can therefore give two worlds mirrored random numbers and check
that they stay mirror images; a draw with a wrong Rep, or one that favours a side, shows up there.
"""

import torch
from torch import Tensor

from swap.robots import Robot
from swap.sim import Draw, Ranges, draw, draw_push
from swap.symmetry import Rep


class RandomSource:
    """The random numbers of `n` worlds, on their device."""

    def __init__(self, n: int, device: torch.device, seed: int) -> None:
        self.n, self.device = n, device
        self.generator = torch.Generator(device).manual_seed(seed)

    def uniform(self, *shape: int) -> Tensor:
        """[N, *shape] in [0, 1), for what a mirror keeps: levels, forward speeds, times."""
        return torch.rand(self.n, *shape, generator=self.generator, device=self.device)

    def signed(self, rep: Rep) -> Tensor:
        """[N, rep.dim] in [-1, 1), for what mirrors as `rep`: noise, offsets, headings."""
        return self.uniform(rep.dim).mul_(2).sub_(1)

    def draw(self, ranges: Ranges, robot: Robot) -> Draw:
        """The randomisation of robots: friction, masses, motors, latency."""
        return draw(ranges, robot, self.n, self.generator)

    def push(self, ranges: Ranges) -> tuple[Tensor, Tensor]:
        """Pushes for `Engine.push`, linear and angular, [N, 3] each."""
        return draw_push(ranges, self.n, self.generator)
