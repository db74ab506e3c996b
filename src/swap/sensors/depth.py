"""Renders clean depth images from base poses and boxes.

Pixels hold z-depth (along the optical axis, as depth cameras report it) scaled to [0, 1]: 0 at
`near_m`, 1 at `far_m` and where nothing is seen. Anything nearer than `near_m` reads 0. Row 0 is
the top, column 0 the robot's left (+y), so a mirrored scene gives the flipped image.
"""

import math
from collections.abc import Sequence

import torch
import warp as wp
from torch import Tensor

from swap.courses.course import SLOTS, Boxes
from swap.device.warp_launch import WarpViews, launch
from swap.errors import UserError
from swap.robots import CameraMount
from swap.sensors.cfg import OpticsCfg
from swap.sensors.depth_kernels import (
    ROWS,
    LegFrame,
    Mount,
    place_boxes,
    place_legs,
    trace,
)
from swap.sensors.rays import BoxFrame


class DepthRenderer:
    """Renders `n` worlds into `image` [N, rows, cols], always in the same storage.

    `radius_m` are the radii of the capsules of the robot's legs; if it is given, each call takes
    their end points.
    """

    def __init__(
        self,
        optics: OpticsCfg,
        mount: CameraMount,
        n: int,
        slots: int = SLOTS,
        device: str | torch.device = "cpu",
        radius_m: Sequence[float] = (),
    ) -> None:
        self.optics, self.n, self.slots = optics, n, slots
        self.device = torch.device(device)
        self.image = torch.ones(n, optics.rows, optics.cols, device=self.device)
        self._views = WarpViews(self.device)
        self._everywhere = torch.ones(n, dtype=torch.bool, device=self.device)
        self._centred = torch.zeros(n, 3, device=self.device)
        self._radius = torch.tensor(list(radius_m) or [0.0], device=self.device)
        self.n_legs = len(radius_m)
        place = str(self.device)
        self._frames = wp.zeros((n, slots), dtype=BoxFrame, device=place)
        self._legs = wp.zeros((n, max(self.n_legs, 1)), dtype=LegFrame, device=place)
        self._mount = _mounted(mount, optics)

    def __call__(
        self,
        boxes: Boxes,
        base_pos: Tensor,
        base_quat: Tensor,
        *,
        offset_pos: Tensor | None = None,
        offset_rot: Tensor | None = None,
        legs: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Render the images of the worlds in `mask` [N] bool (all if not given).

        `offset_pos` [N, 3] m and `offset_rot` [N, 3] rad (a rotation vector) displace the camera
        in the base frame. `legs` are the capsules' two ends in the world, [N, K, 3] each.
        A world whose pose is not finite sees nothing.
        """
        n, view = self.n, self._views
        if (legs is not None) != (self.n_legs > 0):
            raise UserError(
                f"this camera knows {self.n_legs} leg capsules but legs were "
                f"{'not ' if legs is None else ''}given; radius_m and legs go together"
            )
        viewer = [
            self._mount,
            view("mask", self._everywhere if mask is None else mask, (n,), wp.bool),
            view("base_pos", base_pos, (n, 3), wp.vec3),
            view("base_quat", base_quat, (n, 4), wp.vec4),
            view("offset_pos", _or(offset_pos, self._centred), (n, 3), wp.vec3),
            view("offset_rot", _or(offset_rot, self._centred), (n, 3), wp.vec3),
        ]
        world = box_views(view, boxes, n, self.slots)
        radius = view("radius_m", self._radius, self._radius.shape)
        launch(place_boxes, (n, self.slots), [*viewer, *world, self._frames], self.device)
        if legs is not None:
            shape = (n, self.n_legs, 3)
            ends = [view("legs[0]", legs[0], shape, wp.vec3)]
            ends += [view("legs[1]", legs[1], shape, wp.vec3)]
            launch(place_legs, shape[:2], [*viewer, *ends, radius, self._legs], self.device)
        bands = -(-self.optics.rows // ROWS)
        image = view("image", self.image, self.image.shape)
        scene = [world[-1], self._frames, self.n_legs, self._legs, radius]
        launch(trace, (n, bands, self.optics.cols), [*viewer[:2], *scene, image], self.device)
        return self.image


def box_views(view: WarpViews, boxes: Boxes, n: int, slots: int) -> list[wp.array]:
    """Warp views of Boxes in the kernels' order: pos, quat, half, count."""
    return [
        view("boxes.pos", boxes.pos, (n, slots, 3), wp.vec3),
        view("boxes.quat", boxes.quat, (n, slots, 4), wp.vec4),
        view("boxes.half", boxes.half, (n, slots, 3), wp.vec3),
        view("boxes.count", boxes.count, (n,), wp.int32),
    ]


def _or(tensor: Tensor | None, default: Tensor) -> Tensor:
    return default if tensor is None else tensor


def _mounted(mount: CameraMount, optics: OpticsCfg) -> Mount:
    c, s = math.cos(mount.pitch), math.sin(mount.pitch)
    out = Mount()
    out.pos = wp.vec3(*mount.pos)
    out.rot = wp.mat33(c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)
    out.near, out.far, out.pixel = optics.near_m, optics.far_m, optics.pixel
    out.rows, out.cols = optics.rows, optics.cols
    return out
