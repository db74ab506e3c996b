"""Renders pictures by casting rays with Warp, on a CPU or a GPU, without OpenGL."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import warp as wp

from swap.device.warp_start import init_warp
from swap.errors import UserError
from swap.robots import Robot
from swap.sensors.rays import BoxFrame
from swap.view.camera import View
from swap.view.render_kernels import draw, smooth
from swap.view.scene import PARTS, Scene, radii
from swap.view.trace_kernels import CapsuleFrame, ShadingInputs, place_boxes, place_capsules

Colour = tuple[float, float, float]
SHADE = {"housing": 0.45, "thigh": 1.0, "shank": 0.62, "foot": 0.25}
"""Legs darken towards the foot, in display values."""
LENS_M = 0.045
TINTS = (
    (-2.0, (0.27, 0.30, 0.36)),
    (-0.6, (0.52, 0.56, 0.60)),
    (0.0, (0.86, 0.85, 0.81)),
    (0.25, (0.70, 0.82, 0.77)),
    (0.6, (0.52, 0.74, 0.72)),
    (1.3, (0.25, 0.56, 0.66)),
    (2.2, (0.22, 0.36, 0.58)),
)
"""Colours of the ground by its height, m."""


@dataclass(frozen=True)
class PictureCfg:
    """Size and colours of a picture. Colours are display values in [0, 1]."""

    width: int = 640
    height: int = 360
    trunk: Colour = (0.80, 0.81, 0.84)
    belly: Colour = (0.24, 0.26, 0.30)
    """The lower half of the trunk."""
    left: Colour = (0.98, 0.62, 0.16)
    right: Colour = (0.25, 0.62, 0.88)
    sky_low: Colour = (0.93, 0.95, 0.96)
    sky_top: Colour = (0.45, 0.66, 0.88)
    sunlight: Colour = (0.93, 0.89, 0.81)
    skylight: Colour = (0.55, 0.59, 0.66)
    sun: tuple[float, float, float] = (-0.35, -0.60, 0.95)
    """Direction to the sun, world."""
    haze_m: float = 10.0
    """Things beyond this distance fade into the sky."""

    def __post_init__(self) -> None:
        if min(self.width, self.height) < 16 or max(self.width, self.height) > 4096:
            raise UserError(f"a picture of {self.width}x{self.height}; use 16 to 4096 pixels")
        if not self.sun[2] > 0:
            raise UserError(f"sun={self.sun} is below the horizon; give a positive z")


class Renderer:
    """Draws pictures of one robot. `depth` (along the optical axis, m) and `shape` (index of the
    box, or number of boxes + index of the capsule, or -1) hold what the pixels of the last picture
    show."""

    def __init__(
        self, robot: Robot, look: PictureCfg | None = None, device: str | None = None
    ) -> None:
        """`device`: by default CUDA if there is a GPU, otherwise Warp's CPU device."""
        init_warp()
        self.robot, self.look = robot, look or PictureCfg()
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        size = (self.look.height, self.look.width)
        self._image = self._empty(size, wp.vec3)
        self._depth = self._empty(size, wp.float32)
        self._shape = self._empty(size, wp.int32)
        self._bytes = self._empty((*size, 3), wp.uint8)
        self._radius = self._array(radii(robot))
        self._stage = self._lasting(self.look)

    def __call__(self, scene: Scene, view: View) -> np.ndarray:
        """uint8 RGB [height, width, 3]."""
        stage, n = self._set(scene, view), len(scene.pos)
        boxes = [self._array(scene.pos, wp.vec3), self._array(scene.quat, wp.vec4)]
        ends = [self._array(scene.start, wp.vec3), self._array(scene.end, wp.vec3)]
        pixels = (self.look.height, self.look.width)
        self._launch(place_boxes, (2, n), [stage, *boxes])
        self._launch(place_capsules, (2, len(scene.start)), [stage, *ends, self._radius])
        self._launch(draw, pixels, [stage, self._image, self._depth, self._shape])
        self._launch(smooth, pixels, [stage, self._image, self._bytes])
        return self._bytes.numpy().copy()

    @property
    def depth(self) -> np.ndarray:
        """[height, width], inf where there is sky."""
        return np.where(self.shape < 0, np.inf, self._depth.numpy())

    @property
    def shape(self) -> np.ndarray:
        return self._shape.numpy().copy()

    def _lasting(self, look: PictureCfg) -> ShadingInputs:
        """The part of the stage that does not change from picture to picture."""
        level, tints = zip(*TINTS, strict=True)
        stage = ShadingInputs()
        stage.rows, stage.cols = look.height, look.width
        stage.sun = wp.mat33(_sun_axes(look.sun))
        stage.tint_z, stage.tint = self._array(level), self._array(_linear(tints), wp.vec3)
        stage.skin = self._array(_linear(skin(self.robot, look)), wp.vec3)
        for name in ("sky_low", "sky_top", "sunlight", "skylight"):
            setattr(stage, name, wp.vec3(*_linear(getattr(look, name))))
        count = len(self.robot.trunk_shapes) + len(PARTS) * len(self.robot.legs)
        stage.capsules = self._empty((2, count), CapsuleFrame)
        stage.lens_size, stage.trunk = LENS_M, len(self.robot.trunk_shapes)
        stage.haze_m = look.haze_m
        stage.belly_skin = wp.vec3(*_linear(look.belly))
        return stage

    def _set(self, scene: Scene, view: View) -> ShadingInputs:
        stage, axes = self._stage, view.axes()
        stage.eye, stage.rot = wp.vec3(*view.eye), wp.mat33(axes)
        stage.pixel = 2 * math.tan(math.radians(view.fov_deg / 2)) / self.look.width
        stage.boxes = self._empty((2, len(scene.pos)), BoxFrame)
        stage.half = self._array(scene.half, wp.vec3)
        ends = np.concatenate([scene.start, scene.end])
        stage.middle = wp.vec3(*((scene.base_pos - view.eye) @ axes))
        stage.size = float(
            np.linalg.norm(ends - scene.base_pos, axis=1).max() + radii(self.robot).max()
        )
        stage.belly = wp.vec3(*(-scene.base_rot[:, 2] @ axes))
        lens = scene.base_pos + scene.base_rot @ np.array(self.robot.camera.pos)
        stage.lens = wp.vec3(*((lens - view.eye) @ axes))
        return stage

    def _empty(self, shape: tuple[int, ...], dtype: type) -> Any:
        return wp.empty(shape, dtype=dtype, device=self.device)

    def _array(self, values: object, dtype: type = wp.float32) -> wp.array:
        return wp.array(np.asarray(values, np.float32), dtype=dtype, device=self.device)

    def _launch(self, kernel: wp.Kernel, dim: tuple[int, ...], inputs: list) -> None:
        wp.launch(kernel, dim=dim, inputs=inputs, device=self.device)


def skin(robot: Robot, look: PictureCfg) -> np.ndarray:
    """A colour for each capsule of a scene [K, 3]."""
    legs = [
        np.array(look.left if leg.mount[1] > 0 else look.right) * shade
        for leg in robot.legs
        for shade in (SHADE[part] for part in PARTS)
    ]
    return np.array([*(look.trunk for _ in robot.trunk_shapes), *legs])


def _linear(colour: object) -> np.ndarray:
    """Turns display values into linear light, with gamma 2."""
    return np.square(np.asarray(colour, float))


def _sun_axes(sun: tuple[float, float, float]) -> np.ndarray:
    ahead = np.array(sun) / np.linalg.norm(sun)
    left = np.cross([0.0, 1.0, 0.0], ahead)
    left /= np.linalg.norm(left)
    return np.column_stack([ahead, left, np.cross(ahead, left)])
