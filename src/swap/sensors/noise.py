"""Adds the noise of a stereo camera to clean depth images.

In this order: error that grows with depth, holes along edges, blobs without any return, single
pixels without one, and sometimes a frame that is lost (the previous one is repeated). A hole reads
1, like anything unseen.
Every random number is a hash of (seed, the world's key, the world's count of draws, pixel), so it
depends neither on the batch nor on the order of launches. A world with `mirrored` set reads the
same numbers from right to left, so that its noisy image is exactly the flipped one.
"""

import torch
import warp as wp
from torch import Tensor

from swap.device.warp_launch import WarpViews, launch
from swap.sensors.cfg import DepthNoiseCfg, OpticsCfg
from swap.sensors.noise_kernels import BLOBS, draw_frame, spoil
from swap.state_dict import Buffers


class NoiseSeeds:
    """The seeds of each world's random numbers. Edit the tensors in place to replay them."""

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
    """Adds noise to images of `n` worlds and keeps the random draws of each world's last frame."""

    frame: Tensor
    """[N]: the seed of the last frame's noise."""
    lost: Tensor
    """[N] bool: the frame was lost."""
    blobs: Tensor
    """[N, BLOBS, 3]: discs without any return."""
    pixel_holes: Tensor
    """[N]: share of single pixels without a return."""

    def __init__(self, cfg: DepthNoiseCfg, optics: OpticsCfg, draws: NoiseSeeds) -> None:
        n, device = len(draws.key), draws.key.device
        self.pixel_holes = torch.full((n,), cfg.pixel_holes[0], device=device)
        varies = cfg.pixel_holes[0] < cfg.pixel_holes[1]
        super().__init__(
            frame=torch.zeros(n, dtype=torch.int32, device=device),
            lost=torch.zeros(n, dtype=torch.bool, device=device),
            blobs=torch.zeros(n, BLOBS, 3, device=device),
            # Saved only where it is drawn, so that states of before it existed can be loaded.
            **({"pixel_holes": self.pixel_holes} if varies else {}),
        )
        self.cfg, self.optics, self.draws = cfg, optics, draws
        self.n, self.device = n, device
        self._views = WarpViews(self.device)

    def __call__(self, clean: Tensor, noisy: Tensor, fresh: Tensor, mask: Tensor) -> None:
        """Write `noisy` [N, rows, cols] where `mask` [N] is set, and clear `fresh` [N] there.

        Worlds that are `fresh` never lose the frame, so they never see an older one.
        """
        n, view, cfg, optics = self.n, self._views, self.cfg, self.optics
        masked, first = view("mask", mask, (n,), wp.bool), view("fresh", fresh, (n,), wp.bool)
        chances = [cfg.dropped, cfg.blob_holes, optics.rows, optics.cols]
        inputs = [*self.draws.views, masked, first, *chances, *self._shared()]
        launch(draw_frame, (n,), inputs, self.device)
        self.spoil(clean, noisy, mask)

    def spoil(self, clean: Tensor, noisy: Tensor, mask: Tensor) -> None:
        """Write `noisy` from the last draws again; lost frames keep what `noisy` holds."""
        n, view, cfg, optics = self.n, self._views, self.cfg, self.optics
        shape = (n, optics.rows, optics.cols)
        masked = view("mask", mask, (n,), wp.bool)
        sizes = [optics.near_m, optics.far_m, cfg.sigma_m, cfg.sigma_per_m]
        edges = [cfg.edge_holes, cfg.edge_jump_per_m]
        images = [view("clean", clean, shape), view("noisy", noisy, shape)]
        mirrored = view("mirrored", self.draws.mirrored, (n,), wp.bool)
        holes = view("pixel_holes", self.pixel_holes, (n,))
        inputs = [masked, mirrored, *self._shared(), holes, *sizes, *edges, *images]
        launch(spoil, shape, inputs, self.device)

    def _shared(self) -> list[wp.array]:
        n, view = self.n, self._views
        return [
            view("frame", self.frame, (n,), wp.int32),
            view("lost", self.lost, (n,), wp.bool),
            view("blobs", self.blobs, (n, BLOBS, 3), wp.vec3),
        ]
