"""The depth camera: it remembers the poses of past control steps and gives delayed images, clean
and noisy.

Boxes do not move while a robot runs, so an image taken 100 ms ago is the image from the pose 100 ms
ago. The camera therefore stores past poses, not images: no latency takes extra images, and one that
is not a whole number of control steps (60-140 ms at 10 Hz, one frame on average) is an
interpolation between two. Latency, mounting error and darkness are drawn for each world at its
reset.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import warp as wp
from torch import Tensor

from swap.courses.course import SLOTS, Boxes
from swap.device.warp_launch import WarpViews, expect_shape, launch
from swap.errors import UserError
from swap.robots import CameraMount
from swap.sensors.camera_kernels import draw_camera, recall, remember
from swap.sensors.cfg import DepthCameraCfg
from swap.sensors.depth import DepthRenderer
from swap.sensors.noise import DepthNoise, NoiseSeeds
from swap.sim import CONTROL_DT
from swap.state_dict import copy_into, join_states

_NAMES = {"pos": "base_pos", "quat": "base_quat", "start": "legs[0]", "end": "legs[1]"}


class DepthImages(NamedTuple):
    """The result of a capture, both [N, rows, cols] in [0, 1], always in the same storage."""

    clean: Tensor
    """The images of an ideal camera: the world model's target."""
    noisy: Tensor
    """The images of this camera: the world model's input."""


class DepthCamera:
    """Delayed, noisy depth cameras of `n` worlds.

    Call `track` at every control step, `reset` when worlds start (also the first time), and
    `capture` when images are due. The next image of a reset world shows its new pose at once. All
    state is in tensors with fixed storage, so the three calls can be recorded in a graph after one
    warm-up.
    """

    def __init__(
        self,
        cfg: DepthCameraCfg,
        mount: CameraMount,
        n: int,
        slots: int = SLOTS,
        device: str | torch.device = "cpu",
        radius_m: Sequence[float] = (),
        seed: int = 0,
    ) -> None:
        self.cfg, self.n = cfg, n
        self.device = torch.device(device)
        self.depth = DepthRenderer(cfg.optics, mount, n, slots, self.device, radius_m)
        self.draws = NoiseSeeds(n, seed, self.device)
        self.noise = DepthNoise(cfg.noise, cfg.optics, self.draws)
        self.frames = DepthImages(self.depth.image, torch.ones_like(self.depth.image))
        self.fresh = torch.ones(n, dtype=torch.bool, device=self.device)
        """[N]: no image since the reset."""
        self.age_steps = torch.zeros(n, device=self.device)
        """[N]: the world's latency in control steps."""
        self.offset_pos = torch.zeros(n, 3, device=self.device)
        """[N, 3]: the camera's displacement in the base frame, m."""
        self.offset_rot = torch.zeros(n, 3, device=self.device)
        """[N, 3]: its rotation vector, rad."""
        self._everywhere = torch.ones(n, dtype=torch.bool, device=self.device)
        self._views = WarpViews(self.device)
        sizes = {"pos": (1, 3), "quat": (1, 4)}
        if radius_m:
            sizes |= {"start": (len(radius_m), 3), "end": (len(radius_m), 3)}
        # How many poses the longest latency needs.
        poses = math.ceil(round(cfg.latency_s[1] / CONTROL_DT, 6)) + 1
        self._memory = {
            name: torch.zeros(n, poses, *size, device=self.device) for name, size in sizes.items()
        }
        self._past = {
            name: torch.zeros(n, *size, device=self.device) for name, size in sizes.items()
        }

    def track(
        self, base_pos: Tensor, base_quat: Tensor, legs: tuple[Tensor, Tensor] | None = None
    ) -> None:
        """Store the poses after a control step: base [N, 3] and [N, 4] and, if legs are seen, the
        ends of their capsules, [N, K, 3] each."""
        self._remember(False, self._everywhere, base_pos, base_quat, legs)

    def reset(
        self,
        mask: Tensor,
        base_pos: Tensor,
        base_quat: Tensor,
        legs: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        """Let the worlds in `mask` [N] bool start from these poses and forget the past ones."""
        n, view, cfg = self.n, self._views, self.cfg
        self._remember(True, mask, base_pos, base_quat, legs)
        ages = [t / CONTROL_DT for t in cfg.latency_s]
        state = [
            view("fresh", self.fresh, (n,), wp.bool),
            view("age", self.age_steps, (n,)),
            view("offset_pos", self.offset_pos, (n, 3), wp.vec3),
            view("offset_rot", self.offset_rot, (n, 3), wp.vec3),
            view("pixel_holes", self.noise.pixel_holes, (n,)),
        ]
        mirrored = view("mirrored", self.draws.mirrored, (n,), wp.bool)
        masked = self._mask(mask)
        sizes = [*ages, cfg.jitter_m, cfg.jitter_rad, *cfg.noise.pixel_holes]
        launch(
            draw_camera, (n,), [*self.draws.views, mirrored, masked, *sizes, *state], self.device
        )

    def capture(self, boxes: Boxes, mask: Tensor | None = None) -> DepthImages:
        """Take new images of the worlds in `mask` [N] bool (all if not given)."""
        n, view = self.n, self._views
        mask = self._everywhere if mask is None else mask
        when = [
            self._mask(mask),
            view("fresh", self.fresh, (n,), wp.bool),
            view("age", self.age_steps, (n,)),
        ]
        for name, memory in self._memory.items():
            out = self._past[name]
            arrays = [view(f"memory of {name}", memory, memory.shape)]
            arrays += [view(f"past {name}", out, out.shape)]
            launch(recall, out.shape[:2], [*when, *arrays], self.device)
        self._expose(boxes, mask)
        self.noise(*self.frames, self.fresh, mask)
        return self.frames

    def _expose(self, boxes: Boxes, mask: Tensor) -> None:
        """Render clean images from the recalled poses."""
        past = self._past
        self.depth(
            boxes,
            past["pos"][:, 0],
            past["quat"][:, 0],
            offset_pos=self.offset_pos,
            offset_rot=self.offset_rot,
            legs=(past["start"], past["end"]) if "start" in past else None,
            mask=mask,
        )

    # --- saving and restoring -------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """All state by name. Images are rendered again from it, except where a frame was lost and
        an older one is shown: these are saved."""
        return {**self._live(), "shown": self.frames.noisy[self.noise.lost]}

    def load_state_dict(self, state: Mapping[str, Tensor], boxes: Boxes) -> None:
        """Restore exactly the cameras that gave this state; `boxes` are those of that time."""
        copy_into(self._live(), state)
        self._expose(boxes, self._everywhere)
        self.noise.spoil(*self.frames, self._everywhere)
        self.frames.noisy[self.noise.lost] = state["shown"].to(self.device)

    def _live(self) -> dict[str, Tensor]:
        return {
            **join_states(memory=self._memory, past=self._past),
            **self.noise.state_dict(),
            "count": self.draws.count,
            "fresh": self.fresh,
            "age_steps": self.age_steps,
            "offset_pos": self.offset_pos,
            "offset_rot": self.offset_rot,
        }

    def _remember(
        self,
        refill: bool,
        mask: Tensor,
        base_pos: Tensor,
        base_quat: Tensor,
        legs: tuple[Tensor, Tensor] | None,
    ) -> None:
        if (legs is not None) != ("start" in self._memory):
            raise UserError("give legs exactly when the camera was made with radius_m")
        expect_shape("base_pos", base_pos, (self.n, 3))
        expect_shape("base_quat", base_quat, (self.n, 4))
        now = {"pos": base_pos.unsqueeze(1), "quat": base_quat.unsqueeze(1)}
        if legs is not None:
            now |= {"start": legs[0], "end": legs[1]}
        masked = self._mask(mask)
        for name, tensor in now.items():
            memory = self._memory[name]
            shape = (self.n, *memory.shape[2:])
            arrays = [self._views(_NAMES[name], tensor, shape)]
            arrays += [self._views(f"memory of {name}", memory, memory.shape)]
            launch(remember, shape, [refill, masked, *arrays], self.device)

    def _mask(self, mask: Tensor) -> wp.array:
        """A Warp view of the mask. The full mask has its own name, so that views are not remade."""
        name = "everywhere" if mask is self._everywhere else "mask"
        return self._views(name, mask, (self.n,), wp.bool)
