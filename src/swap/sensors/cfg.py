"""Configures the sensors: frozen dataclasses that are checked when they are made.

The camera's position belongs to the robot (`robot.camera`) and the control rate to the simulator
(`CONTROL_DT`), so neither is set here.
"""

import math
from dataclasses import dataclass, field

from torch import Tensor

from swap.errors import UserError
from swap.symmetry import Grid
from swap.validate import check_numbers


@dataclass(frozen=True)
class OpticsCfg:
    """The resolution, field of view and range of a depth camera."""

    rows: int = 64
    """Pixels from top to bottom."""
    cols: int = 64
    """Pixels from left to right."""
    fov_deg: float = 87.0
    """Horizontal field of view, edge to edge; pixels are square."""
    near_m: float = 0.15
    """Smallest depth; anything nearer reads as this."""
    far_m: float = 5.0
    """Largest depth; anything farther, and empty space, reads as this."""

    def __post_init__(self) -> None:
        check_numbers(self, "camera.optics.", at_least_1=("rows", "cols"))
        if not 1.0 <= self.fov_deg <= 170.0:
            raise UserError(f"fov_deg={self.fov_deg} is outside 1..170; give degrees, e.g. 87")
        if not 0.0 < self.near_m < self.far_m:
            raise UserError(
                f"near_m={self.near_m} and far_m={self.far_m} leave no range; use 0 < near < far"
            )

    @property
    def grid(self) -> Grid:
        return Grid(self.rows, self.cols)

    @property
    def pixel(self) -> float:
        """Width of a pixel on the plane one metre ahead, m."""
        return 2.0 * math.tan(math.radians(self.fov_deg) / 2.0) / self.cols

    def metres(self, image: Tensor) -> Tensor:
        """z-depth in metres of an image in [0, 1]."""
        return self.near_m + image * (self.far_m - self.near_m)


@dataclass(frozen=True)
class DepthNoiseCfg:
    """Faults of the camera's images."""

    sigma_m: float = 0.01
    """Standard deviation of the depth at zero range, m."""
    sigma_per_m: float = 0.004
    """Growth of that error with depth z: sigma_m + sigma_per_m * z^2 (stereo triangulation)."""
    edge_holes: float = 0.3
    """Chance that a pixel on an edge has no return."""
    edge_jump_per_m: float = 0.06
    """Second difference of the inverse depth, 1/m per pixel, from which on a pixel is an edge."""
    blob_holes: float = 0.05
    """Largest share of pixels that a frame loses in a few discs; drawn from 0 to this."""
    dropped: float = 0.01
    """Chance that a frame is lost and the previous one repeated."""
    pixel_holes: tuple[float, float] = (0.0, 0.0)
    """Share of pixels without a return, each by itself, as in the dark; drawn uniformly for each
    world at its reset."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            "camera.noise.",
            not_negative=("sigma_m", "sigma_per_m", "edge_jump_per_m"),
            fractions=("edge_holes", "blob_holes", "dropped", "pixel_holes"),
        )
        if self.pixel_holes[0] > self.pixel_holes[1]:
            raise UserError(
                f"camera.noise.pixel_holes={self.pixel_holes} runs backwards; give (low, high)"
            )


@dataclass(frozen=True)
class DepthCameraCfg:
    """A depth camera with its latency, mounting error and noise."""

    every: int = 5
    """Control steps between two images, and between two steps of the world model."""
    latency_s: tuple[float, float] = (0.06, 0.14)
    """Age of an image when it is read, drawn uniformly for each world at its reset."""
    jitter_m: float = 0.01
    """Largest error of the camera's position along each axis."""
    jitter_rad: float = math.radians(2.0)
    """Largest error of the camera's rotation about each axis."""
    optics: OpticsCfg = field(default_factory=OpticsCfg)
    noise: DepthNoiseCfg = field(default_factory=DepthNoiseCfg)

    def __post_init__(self) -> None:
        check_numbers(self, "camera.", at_least_1=("every",))
        if not 0.0 <= self.latency_s[0] <= self.latency_s[1] <= 1.0:
            raise UserError(f"latency_s={self.latency_s} is no range; use 0 <= low <= high <= 1 s")
        if not (0.0 <= self.jitter_m <= 0.1 and 0.0 <= self.jitter_rad <= 0.2):
            raise UserError(
                f"jitter_m={self.jitter_m}, jitter_rad={self.jitter_rad}: "
                "small offsets only, use 0 to 0.1 m and 0 to 0.2 rad"
            )


@dataclass(frozen=True)
class Patch:
    """A horizontal grid of points, symmetric in y."""

    grid: Grid
    back_m: float
    """x of row 0."""
    spacing_m: float
    clip_m: float
    """Values stay within -clip_m..clip_m."""

    def __post_init__(self) -> None:
        if self.spacing_m <= 0.0 or self.clip_m <= 0.0:
            raise UserError(
                f"spacing_m={self.spacing_m} and clip_m={self.clip_m} must both be above 0"
            )

    @property
    def points(self) -> list[tuple[float, float]]:
        """(x, y) of every point, m; columns c and cols - 1 - c have exactly opposite y."""
        rows, cols = range(self.grid.rows), range(self.grid.cols)
        ys = [((self.grid.cols - 1) / 2 - c) * self.spacing_m for c in cols]
        return [(self.back_m + r * self.spacing_m, y) for r in rows for y in ys]


@dataclass(frozen=True)
class HeightCfg:
    """The three height maps."""

    terrain: Patch = Patch(Grid(17, 11), back_m=-0.8, spacing_m=0.1, clip_m=2.0)
    """Around the base: x -0.8..0.8, y -0.5..0.5; the critic reads it."""
    body: Patch = Patch(Grid(26, 11), back_m=-0.5, spacing_m=0.1, clip_m=2.0)
    """In front of the base: x -0.5..2.0, y -0.5..0.5; the world model predicts it."""
    foot: Patch = Patch(Grid(5, 5), back_m=-0.1, spacing_m=0.05, clip_m=1.0)
    """Around each foot: x, y -0.1..0.1."""
