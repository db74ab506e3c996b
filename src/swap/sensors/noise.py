"""Spoils clean depth images as a stereo camera would.

In this order: error that grows with range, holes along edges, blobs without any return, and now
and then a frame that never arrives (the previous one is repeated). A hole reads 1, as anything
unseen does. Every number is a hash of (seed, world's key, world's count of draws, pixel), so
nothing depends on batch, launch order or handedness: a world with `mirrored` set reads the same
numbers from right to left, and its noisy image is exactly the flipped one.
"""

import torch
import warp as wp
from torch import Tensor

from swap.device.warp_launch import WarpViews, launch
from swap.sensors.cfg import DepthNoiseCfg, OpticsCfg
from swap.sensors.noise_kernels import BLOBS, draw_frame, spoil
from swap.state_dict import Buffers


class NoiseSeeds:
    """Where each world's random numbers come from. Edit the tensors in place to replay them."""

    def __init__(self, n: int, seed: int, device: torch.device) -> None:
        self.seed = seed & 0x7FFFFFFF
        self.key = torch.arange(n, dtype=torch.int32, device=device)
        """[N]: worlds with one key and one count draw the same numbers."""
        self.count = torch.zeros(n, dtype=torch.int32, device=device)
        """[N]: draws made so far."""
        self.mirrored = torch.zeros(n, dtype=torch.bool, device=device)
        """[N]: read the numbers as a mirror image."""
        view = WarpViews(device)
        self.views = [
            self.seed,
            view("key", self.key, (n,), wp.int32),
            view("count", self.count, (n,), wp.int32),
        ]


class DepthNoise(Buffers):
    """Spoils images of `n` worlds in place; keeps what the latest frame of each has drawn."""

    frame: Tensor
    """[N]: the number of the draw."""
    lost: Tensor
    """[N] bool: the frame was lost."""
    blobs: Tensor
    """[N, BLOBS, 3]: discs without any return."""

    def __init__(self, cfg: DepthNoiseCfg, optics: OpticsCfg, draws: NoiseSeeds) -> None:
        n, device = len(draws.key), draws.key.device
        super().__init__(
            frame=torch.zeros(n, dtype=torch.int32, device=device),
            lost=torch.zeros(n, dtype=torch.bool, device=device),
            blobs=torch.zeros(n, BLOBS, 3, device=device),
        )
        self.cfg, self.optics, self.draws = cfg, optics, draws
        self.n, self.device = n, device
        self._views = WarpViews(self.device)

    def __call__(self, clean: Tensor, noisy: Tensor, fresh: Tensor, mask: Tensor) -> None:
        """Write `noisy` [N, rows, cols] where `mask` [N]; clears `fresh` [N] there.

        Worlds that are `fresh` never lose the frame, so they never see an older one.
        """
        n, view, cfg, optics = self.n, self._views, self.cfg, self.optics
        masked, first = view("mask", mask, (n,), wp.bool), view("fresh", fresh, (n,), wp.bool)
        chances = [cfg.dropped, cfg.blob_holes, optics.rows, optics.cols]
        inputs = [*self.draws.views, masked, first, *chances, *self._shared()]
        launch(draw_frame, (n,), inputs, self.device)
        self.spoil(clean, noisy, mask)

    def spoil(self, clean: Tensor, noisy: Tensor, mask: Tensor) -> None:
        """The same with what the latest frames drew; `noisy` stays where they were lost."""
        n, view, cfg, optics = self.n, self._views, self.cfg, self.optics
        shape = (n, optics.rows, optics.cols)
        masked = view("mask", mask, (n,), wp.bool)
        sizes = [optics.near_m, optics.far_m, cfg.sigma_m, cfg.sigma_per_m]
        edges = [cfg.edge_holes, cfg.edge_jump_per_m]
        images = [view("clean", clean, shape), view("noisy", noisy, shape)]
        mirrored = view("mirrored", self.draws.mirrored, (n,), wp.bool)
        inputs = [masked, mirrored, *self._shared(), *sizes, *edges, *images]
        launch(spoil, shape, inputs, self.device)

    def _shared(self) -> list[wp.array]:
        n, view = self.n, self._views
        return [
            view("frame", self.frame, (n,), wp.int32),
            view("lost", self.lost, (n,), wp.bool),
            view("blobs", self.blobs, (n, BLOBS, 3), wp.vec3),
        ]
