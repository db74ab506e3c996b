"""Computes three height maps of the ground around the base and the feet.

A value is the height of the highest surface at a grid point minus that of the base (or of the
foot's centre), in metres: a wall ahead is positive, flat ground is minus the standing height. Rays
go straight down, so an overhang hides what is below it. Values are clipped; a point without any box
is a pit and reads the lower clip. Grids turn with the robot's heading but stay level; rows run from
back to front, columns from left (+y) to right.
"""

import torch
import warp as wp
from torch import Tensor

from swap.courses.course import SLOTS, Boxes
from swap.device.threads import Cores
from swap.device.warp_launch import WarpViews, launch
from swap.sensors.cfg import HeightCfg
from swap.sensors.depth import box_views
from swap.sensors.height_kernels import measure, place
from swap.sensors.rays import BoxFrame


class HeightMaps:
    """All maps of `n` worlds, one row of `out` per world; the named maps are views of it.

    `terrain` [N, 187], `body` [N, 286], `foot` [N, 4, 25], and `world_model` [N, 386]: body and
    feet side by side, as the world model predicts them. Storage never moves.
    """

    def __init__(
        self,
        cfg: HeightCfg,
        feet: int,
        n: int,
        slots: int = SLOTS,
        device: str | torch.device = "cpu",
    ) -> None:
        self.cfg, self.feet, self.n, self.slots = cfg, feet, n, slots
        self.device = torch.device(device)
        patches = [(cfg.terrain, -1), (cfg.body, -1), *((cfg.foot, k) for k in range(feet))]
        rows = [(*p, k, patch.clip_m) for patch, k in patches for p in patch.points]
        table = torch.tensor(rows, dtype=torch.float64, device=self.device)
        self._point = table[:, :2].float().contiguous()
        self._foot = table[:, 2].to(torch.int32)
        self._clip = table[:, 3].float()
        self.out = torch.zeros(n, len(rows), device=self.device)
        first = len(cfg.terrain.points)
        last = first + len(cfg.body.points)
        self.terrain, self.body = self.out[:, :first], self.out[:, first:last]
        self.foot = self.out[:, last:].unflatten(1, (feet, len(cfg.foot.points)))
        self.world_model = self.out[:, first:]
        self._views = WarpViews(self.device)
        self._cores = Cores(n, self.device)
        self._frames = wp.zeros((n, slots), dtype=BoxFrame, device=str(self.device))

    def __call__(
        self, boxes: Boxes, base_pos: Tensor, base_quat: Tensor, foot_pos: Tensor
    ) -> "HeightMaps":
        """Measure all maps; `foot_pos` [N, feet, 3] are the feet's centres in the world.

        A world whose pose is not finite reads the lower clip everywhere.
        """
        n, view, points = self.n, self._views, self.out.shape[1]
        base = [
            view("base_pos", base_pos, (n, 3), wp.vec3),
            view("base_quat", base_quat, (n, 4), wp.vec4),
        ]
        feet = view("foot_pos", foot_pos, (n, self.feet, 3), wp.vec3)
        world = box_views(view, boxes, n, self.slots)
        grid = [
            view("point", self._point, (points, 2), wp.vec2),
            view("foot", self._foot, (points,), wp.int32),
            view("clip", self._clip, (points,)),
        ]
        out = view("out", self.out, self.out.shape)
        threads = 1 if self.device.type == "cpu" else points

        def measure_worlds(first: int, last: int) -> None:
            several = last - first
            placed = [*base, *world, first, self._frames]
            launch(place, (several, self.slots), placed, self.device)
            inputs = [*base, feet, *grid, world[-1], self._frames, first, threads, out]
            launch(measure, (several, threads), inputs, self.device)

        self._cores(measure_worlds)
        return self
