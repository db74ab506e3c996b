"""Draws what is around a robot: its course, its camera's view, forces, and the ground as its world
model decodes it."""

import math

import numpy as np
import trimesh
import viser

from swap.courses import Course
from swap.robots import Robot
from swap.sensors import OpticsCfg, Patch
from swap.sim import State
from swap.view.render import TINTS

FORCE_M_PER_N = 1 / 1500
"""Length of an arrow: the weight of a 72 kg robot is 0.47 m."""
LEAST_N = 5.0
BRIGHTNESS = 0.75
"""Of a film's colours: viser's lamps are brighter than its sun."""
ERROR_M = 0.3
"""A belief that is this wrong is all red."""
TILE_M = (0.085, 0.085, 0.02)
LIFT_M = 0.02
"""Tiles hover, or slopes would hide half of each."""
RIGHT, WRONG = np.array([20.0, 110.0, 45.0]), np.array([200.0, 25.0, 15.0])


def add_course(server: viser.ViserServer, root: str, course: Course) -> None:
    """Draws the boxes below the node `root`, coloured by the height of their tops."""
    with server.atomic():
        server.scene.add_frame(root, show_axes=False)
        for k in range(course.n):
            server.scene.add_box(
                f"{root}/box{k}",
                color=tint(float(course.pos[k, 2] + course.half[k, 2])),
                dimensions=tuple(2 * course.half[k]),
                position=course.pos[k],
                wxyz=course.quat[k],
            )


def tint(height_m: float) -> tuple[float, float, float]:
    """The colour of a height, as in films."""
    at, colours = zip(*TINTS, strict=True)
    red, green, blue = (
        BRIGHTNESS * float(np.interp(height_m, at, line)) for line in zip(*colours, strict=True)
    )
    return red, green, blue


def add_frustum(
    server: viser.ViserServer, trunk: str, robot: Robot, optics: OpticsCfg
) -> viser.CameraFrustumHandle:
    """Draws what the depth camera looks at, below the node of the trunk."""
    half_width = math.tan(math.radians(optics.fov_deg) / 2)
    s, c = math.sin(robot.camera.pitch), math.cos(robot.camera.pitch)
    # Columns: right, down and ahead of the camera, in the base frame.
    axes = np.array([[0.0, -s, c], [-1.0, 0.0, 0.0], [0.0, -c, -s]])
    return server.scene.add_camera_frustum(
        f"{trunk}/camera",
        fov=2 * math.atan(half_width * optics.rows / optics.cols),
        aspect=optics.cols / optics.rows,
        scale=0.6,
        thickness=0.008,
        color=(40, 40, 40),
        position=robot.camera.pos,
        wxyz=viser.transforms.SO3.from_matrix(axes).wxyz,
        cast_shadow=False,
    )


class Forces:
    """Draws arrows for the forces of the ground on feet, thighs, shanks and trunk."""

    def __init__(self, server: viser.ViserServer, root: str) -> None:
        self._arrows = server.scene.add_arrows(
            f"{root}/forces",
            np.zeros((1, 2, 3), np.float32),
            (230, 40, 60),
            shaft_radius=0.012,
            head_radius=0.03,
            head_length=0.06,
            visible=False,
        )

    def show(self, state: State, world: int, wanted: bool) -> None:
        force = np.asarray(state.force[world])
        felt = np.linalg.norm(force, axis=1) > LEAST_N
        self._arrows.visible = visible = wanted and bool(felt.any())
        if not visible:
            return
        hip, knee, foot = state.leg_pos[world].unbind(1)
        base = state.base_pos[world][None]
        parts = (foot, (hip + knee) / 2, (knee + foot) / 2, base)  # the order of `State.force`
        # Relative to the base: browsers may draw new points later than new places.
        at = np.concatenate([np.asarray(x) for x in parts])[felt] - np.asarray(base)
        arrows = np.stack([at, at + force[felt] * FORCE_M_PER_N], 1)
        self._arrows.position = np.asarray(base[0], float)
        self._arrows.points = arrows.astype(np.float32)


class BelievedGround:
    """Draws the height map that the world model decodes, as tiles: green where it is right, red
    where it is off."""

    def __init__(self, server: viser.ViserServer, root: str, patch: Patch) -> None:
        self._points = np.array(patch.points)
        n, tile = len(self._points), trimesh.creation.box(TILE_M)
        self._tiles = server.scene.add_batched_meshes_simple(
            f"{root}/believed",
            np.asarray(tile.vertices, np.float32),
            np.asarray(tile.faces, np.uint32),
            np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
            np.zeros((n, 3)),
            batched_colors=np.zeros((n, 3), np.uint8),
            flat_shading=True,
            cast_shadow=False,
            lod="off",
            visible=False,
        )

    def show(
        self, base_pos: np.ndarray, heading_rad: float, believed: np.ndarray, true: np.ndarray
    ) -> None:
        """Heights [points] over the base, as believed and as they are."""
        share = np.clip(np.abs(believed - true) / ERROR_M, 0, 1)[:, None]
        places = np.column_stack([self._points, believed + LIFT_M])
        self._tiles.position = base_pos
        self._tiles.wxyz = np.array([np.cos(heading_rad / 2), 0, 0, np.sin(heading_rad / 2)])
        self._tiles.batched_positions = places.astype(np.float32)
        self._tiles.batched_colors = (RIGHT + share * (WRONG - RIGHT)).astype(np.uint8)
        self._tiles.visible = True

    def hide(self) -> None:
        self._tiles.visible = False
