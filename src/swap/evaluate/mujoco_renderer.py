"""Renders our depth images with mujoco-warp's own renderer, for comparison."""

import math
from collections.abc import Callable

import mujoco_warp as mjw
import torch
import warp as wp
from torch import Tensor

from swap.robots.mjcf import build_spec
from swap.sensors import OpticsCfg
from swap.sim.gpu import GpuEngine

HIDDEN = 3
"""A geom group that the renderer leaves out."""


class MujocoRenderer:
    """Renders the boxes, which is all that our camera sees by default, of all worlds of an engine.

    It renders from where MuJoCo last placed the camera: before the last physics step.
    """

    def __init__(self, engine: GpuEngine, optics: OpticsCfg) -> None:
        self._engine, self._optics = engine, optics
        model = build_spec(engine.robot, engine.boxes.slots).compile()
        model.geom_group[engine.boxes.slots :] = HIDDEN
        up = math.tan(math.radians(optics.fov_deg) / 2) * optics.rows / optics.cols
        model.cam_fovy[:] = math.degrees(2 * math.atan(up))  # ours is the horizontal one
        with wp.ScopedDevice(wp.device_from_torch(engine.device)):
            self._context = mjw.create_render_context(
                model,
                nworld=engine.n,
                cam_res=(optics.cols, optics.rows),
                render_rgb=False,
                render_depth=True,
                render_seg=False,
                use_textures=False,
                enable_specular=False,
                enable_emission=False,
                enable_per_light_ambient=False,
            )

    def __call__(self) -> None:
        """Renders, after updating the bounding volumes."""
        m, d = self._engine.mujoco
        with wp.ScopedDevice(wp.device_from_torch(self._engine.device)):
            mjw.refit_bvh(m, d, self._context)
            mjw.render(m, d, self._context)

    def image(self) -> Tensor:
        """The images in our scale, [N, rows, cols] in [0, 1]."""
        optics, n = self._optics, self._engine.n
        depth = wp.to_torch(self._context.depth_data).view(n, optics.rows, optics.cols)
        scaled = (depth - optics.near_m) / (optics.far_m - optics.near_m)
        return torch.where(depth > 0, scaled.clamp(0, 1), 1.0)


def try_renderer(build: Callable[[], MujocoRenderer]) -> tuple[MujocoRenderer | None, str]:
    """Returns a renderer that has rendered once, or the reason why there is none."""
    try:
        renderer = build()
        renderer()
        wp.synchronize()
    except Exception as error:  # a rival's failure is a line in the report, not a crash
        return None, f"{type(error).__name__}: {error}".splitlines()[0]
    return renderer, ""
