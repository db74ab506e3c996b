"""The simulated robot's depth camera: MuJoCo's own rays or its own renderer, faults and latency."""

import warnings
from typing import Literal

import mujoco
import numpy as np

from swap.deploy.messages import DepthImage
from swap.deploy.spec import DepthCameraSpec
from swap.errors import UserError
from swap.sim2sim.body import SimulatedRobot
from swap.sim2sim.cfg import Trial, random_source
from swap.sim2sim.clutter import HIDDEN

Renderer = Literal["rays", "gl"]
SHOWN = np.array([group != HIDDEN for group in range(6)], np.uint8)


class Camera:
    """Images of one robot's life."""

    def __init__(
        self, body: SimulatedRobot, camera: DepthCameraSpec, trial: Trial, renderer: Renderer
    ) -> None:
        self._body, self._spec, self._draw = body, camera, random_source(trial, "camera")
        self._id = body.model.camera("depth").id
        right = (np.arange(camera.cols) - (camera.cols - 1) / 2) * camera.pixel
        down = (np.arange(camera.rows) - (camera.rows - 1) / 2) * camera.pixel
        rays = np.broadcast_arrays(right[None], -down[:, None], -1.0)
        self._rays = np.stack(rays, -1).reshape(-1, 3)  # MuJoCo's cameras look along -z
        self._discs = random_source(trial, "glare").uniform(0, 1, (4, 4)) - (0, 0, 0.5, 0.5)
        """Place and speed of each, in images and images a second."""
        self._gl = gl_renderer(body, camera) if renderer == "gl" else None

    def take(self) -> DepthImage:
        """An image of this moment, spoilt."""
        z = self.clean() if self._gl is None else self.rendered()
        return DepthImage(float(self._body.data.time), self._spoil(z).astype(np.float32))

    def clean(self) -> np.ndarray:
        """z-depth in metres [rows, cols], 0 where nothing is seen; by rays."""
        model, data, n = self._body.model, self._body.data, len(self._rays)
        world = self._rays @ data.cam_xmat[self._id].reshape(3, 3).T
        hit, z = np.empty(n, np.int32), np.empty(n)
        far = 2 * self._spec.far_m * float(np.linalg.norm(self._rays, axis=1).max())
        mujoco.mj_multiRay(
            model, data, data.cam_xpos[self._id], world.ravel(), SHOWN, 1, -1, hit, z, None, n, far
        )
        return np.where(hit >= 0, z, 0).reshape(self._spec.rows, self._spec.cols)

    def rendered(self) -> np.ndarray:
        """The same by MuJoCo's OpenGL renderer."""
        assert self._gl is not None
        renderer, option = self._gl
        renderer.update_scene(self._body.data, camera="depth", scene_option=option)
        z = np.asarray(renderer.render(), float)
        return np.where(z < 2 * self._spec.far_m, z, 0)

    def _spoil(self, z: np.ndarray) -> np.ndarray:
        cfg, draw = self._body.cfg, self._draw
        seen = z > 0
        far = np.where(seen, z, 2 * self._spec.far_m)
        jump = np.zeros_like(z)
        across, along = np.abs(np.diff(far, axis=1)), np.abs(np.diff(far, axis=0))
        jump[:, 1:], jump[1:] = across, np.maximum(jump[1:], along)
        edge = (jump > cfg.edge_m) & (draw.random(z.shape) < cfg.edge_holes)
        lost = edge | (draw.random(z.shape) < cfg.holes)
        lost |= self._glare(z.shape)
        noisy = z + (cfg.depth_m + cfg.depth_per_m * z * z) * draw.normal(size=z.shape)
        return np.where(seen & ~lost, np.maximum(noisy, 1e-3), 0)

    def _glare(self, shape: tuple[int, ...]) -> np.ndarray:
        """Pixels that reflections cover now; each disc wanders over the image, and comes back."""
        rows, cols = shape
        share, t = self._body.cfg.specular / len(self._discs), self._body.data.time
        radius_sq = share * rows * cols / np.pi
        lost = np.zeros(shape, bool)
        for row, col, down, right in self._discs if share > 0 else ():
            at = ((row + down * t) % 1 * rows, (col + right * t) % 1 * cols)
            far = (np.arange(rows) - at[0])[:, None] ** 2 + (np.arange(cols) - at[1]) ** 2
            lost |= far < radius_sq
        return lost

    def close(self) -> None:
        if self._gl is not None:
            self._gl[0].close()


def gl_renderer(
    body: SimulatedRobot, camera: DepthCameraSpec
) -> tuple[mujoco.Renderer, mujoco.MjvOption]:
    up = camera.pixel * camera.rows / 2
    body.model.cam_fovy[:] = np.degrees(2 * np.arctan(up))
    option = mujoco.MjvOption()
    option.geomgroup[HIDDEN] = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of GLFW, about what the error then says
            renderer = mujoco.Renderer(body.model, camera.rows, camera.cols)
    except Exception as error:  # of many kinds, by what is missing
        raise UserError(
            f"MuJoCo's renderer does not work here ({error}); set MUJOCO_GL=egl, or use rays"
        ) from None
    renderer.enable_depth_rendering()
    return renderer, option
