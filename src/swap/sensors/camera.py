"""The depth camera: keeps the poses of past control steps and gives delayed images, clean and
noisy.

Boxes do not move while a robot runs, so a picture taken 100 ms ago is the picture of the pose
100 ms ago. The delay line therefore holds poses, not frames: any latency costs no images, and a
camera that runs at its own phase (60-140 ms at 10 Hz, one frame on average) is an interpolation
between two control steps. Latency and mounting error are drawn for each world at its reset.
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
    """What a capture returns, both [N, rows, cols] in [0, 1], always the same storage."""

    clean: Tensor
    """What an ideal camera would deliver: the world model's target."""
    noisy: Tensor
    """What this camera delivers: the world model's input."""


class DepthCamera:
    """Delayed, faulty depth cameras of `n` worlds.

    Every control step `track`; whenever worlds start anew `reset` them, which includes the first
    time; whenever images are due `capture`. A reset world's next image shows its new pose at
    once. All state is in tensors with fixed storage, so the three calls can be captured in a
    graph after one warm-up.
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
        # Poses that the longest latency looks back on.
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
        """One control step has passed: [N, 3], [N, 4] and, if legs are seen, [N, K, 3] twice."""
        self._remember(False, self._everywhere, base_pos, base_quat, legs)

    def reset(
        self,
        mask: Tensor,
        base_pos: Tensor,
        base_quat: Tensor,
        legs: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        """The worlds in `mask` [N] bool start anew from these poses and forget the past."""
        n, view, cfg = self.n, self._views, self.cfg
        self._remember(True, mask, base_pos, base_quat, legs)
        ages = [t / CONTROL_DT for t in cfg.latency_s]
        state = [
            view("fresh", self.fresh, (n,), wp.bool),
            view("age", self.age_steps, (n,)),
            view("offset_pos", self.offset_pos, (n, 3), wp.vec3),
            view("offset_rot", self.offset_rot, (n, 3), wp.vec3),
        ]
        mirrored = view("mirrored", self.draws.mirrored, (n,), wp.bool)
        masked = self._mask(mask)
        sizes = [*ages, cfg.jitter_m, cfg.jitter_rad]
        launch(
            draw_camera, (n,), [*self.draws.views, mirrored, masked, *sizes, *state], self.device
        )

    def capture(self, boxes: Boxes, mask: Tensor | None = None) -> DepthImages:
        """New images for the worlds in `mask` [N] bool (all, if none is given)."""
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
        """Clean images of what was recalled."""
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

    # --- put away and taken out again -----------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """All that lasts, by name. Images are made again from it, except those that were lost:
        there an older one is shown."""
        return {**self._live(), "shown": self.frames.noisy[self.noise.lost]}

    def load_state_dict(self, state: Mapping[str, Tensor], boxes: Boxes) -> None:
        """Exactly the cameras that gave these; `boxes` are those the worlds had then."""
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
        """Two names, so that the view of one is not remade for the other."""
        name = "everywhere" if mask is self._everywhere else "mask"
        return self._views(name, mask, (self.n,), wp.bool)
