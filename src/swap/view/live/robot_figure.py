"""Draws a robot in a viser scene: the very shapes that physics collides, body by body.

A housing from each abad joint to its hip is added, without which legs would hang in the air.
"""

import mujoco
import numpy as np
import trimesh
import viser

from swap.robots import Robot
from swap.robots.mjcf import build_spec
from swap.view.render import SHADE, Colour, PictureCfg

LOOK = PictureCfg()
GHOST: Colour = (0.55, 0.35, 0.85)
GHOST_OPACITY = 0.35


class RobotFigure:
    """Draws one robot below the node `root`; `place` it as often as it moves."""

    def __init__(
        self, server: viser.ViserServer, root: str, robot: Robot, *, ghost: bool = False
    ) -> None:
        """`ghost`: translucent and in one colour."""
        self._model = model = build_spec(robot, slots=0).compile()
        self._robot, self._ghost, self._scene = robot, ghost, server.scene
        self.root = server.scene.add_frame(root, show_axes=False)
        # A node below its parent's: of a leg that moves only turns have to be sent.
        paths = [root]
        self._bodies = []
        for k in range(1, model.nbody):
            paths.append(f"{paths[model.body_parentid[k]]}/{model.body(k).name}")
            self._bodies.append(
                server.scene.add_frame(paths[k], show_axes=False, position=model.body_pos[k])
            )
        for g in range(model.ngeom):
            self._add_geom(paths[model.geom_bodyid[g]], g)
        for leg in robot.legs:
            hip = np.array([0.0, leg.offset, 0.0])
            path = paths[model.body(f"{leg.name}_abad").id]
            colour = self._colour(leg.name)
            self._add_capsule(f"{path}/housing", np.zeros(3), hip, leg.thigh_radius, colour)

    def place(self, base_pos: np.ndarray, base_quat: np.ndarray, joint_pos: np.ndarray) -> None:
        """Moves the robot, in the frame of `root`."""
        trunk, *links = self._bodies
        trunk.position, trunk.wxyz = base_pos, base_quat
        half = np.asarray(joint_pos, float)[:, None] / 2
        turns = np.hstack([np.cos(half), np.sin(half) * self._model.jnt_axis[1:]])
        for link, turn in zip(links, turns, strict=True):
            link.wxyz = turn

    def _add_geom(self, body: str, g: int) -> None:
        model = self._model
        name: str = model.geom(g).name
        radius, half = model.geom_size[g, :2]
        axis = np.zeros(9)
        mujoco.mju_quat2Mat(axis, model.geom_quat[g])
        ahead = axis.reshape(3, 3)[:, 2] * (
            half if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_CAPSULE else 0.0
        )
        pos = model.geom_pos[g]
        self._add_capsule(f"{body}/{name}", pos - ahead, pos + ahead, radius, self._colour(name))

    def _add_capsule(
        self, path: str, a: np.ndarray, b: np.ndarray, radius: float, colour: Colour
    ) -> None:
        length = float(np.linalg.norm(b - a))
        if length > 0:
            shape = trimesh.creation.capsule(height=length, radius=radius, count=(12, 12))
            shape.apply_translation([0, 0, -shape.bounds.mean(0)[2]])
            shape.apply_transform(trimesh.geometry.align_vectors([0, 0, 1], (b - a) / length))
        else:
            shape = trimesh.creation.icosphere(subdivisions=2, radius=radius)
        self._scene.add_mesh_simple(
            path,
            np.asarray(shape.vertices, np.float32),
            np.asarray(shape.faces, np.uint32),
            color=colour,
            opacity=GHOST_OPACITY if self._ghost else None,
            position=(a + b) / 2,
            cast_shadow=not self._ghost,
        )

    def _colour(self, part: str) -> Colour:
        """The colour of a part: left and right differ, and legs darken towards the foot, as in
        films."""
        if self._ghost:
            return GHOST
        if part.startswith("trunk"):
            return LOOK.trunk
        k = next(k for k, leg in enumerate(self._robot.legs) if part.startswith(leg.name))
        side = LOOK.left if self._robot.legs[k].mount[1] > 0 else LOOK.right
        shade = SHADE[part.rsplit("_", 1)[1] if "_" in part else "housing"]
        red, green, blue = (shade * x for x in side)
        return red, green, blue
