"""Puts a live world on the scene: robots, courses, and what the world model decodes.

The camera does not follow the robot: the world is moved below it. That takes one message for all
visitors, who can look around as they like meanwhile.
"""

import numpy as np
import viser

from swap.courses import Course
from swap.courses.blocks import MARGIN_M, quat_of
from swap.env import ParkourEnv
from swap.env.frame import heading_of
from swap.evaluate.imagination import Imagination
from swap.view.live.robot_figure import LOOK, RobotFigure
from swap.view.live.scenery import BelievedGround, Forces, add_course, add_frustum
from swap.view.live.settings import Settings

WORLD = "/world"
APART_M = 1.0
"""Between a course and its mirror image."""
PANEL_PX = 370
"""Wide enough for all tabs in one row."""
GLIDE = 0.15
"""Share of the way that the camera catches up with at every update."""


class Stage:
    """Call `set` with a world, then `show` as often as it moves."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        server.scene.world_axes.visible = False
        server.scene.set_background_image(sky())
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(PANEL_PX)
        server.initial_camera.position = (-2.6, -3.2, 1.8)
        server.initial_camera.look_at = (0.6, 0.0, 0.4)
        self._root = server.scene.add_frame(WORLD, show_axes=False)
        self._parts: list[str] = []

    def set(self, env: ParkourEnv, course: Course) -> None:
        """Draws everything anew; a second world is on the mirror image of the course."""
        server = self._server
        for name in self._parts:
            server.scene.remove_by_name(name)
        self._parts = [f"{WORLD}/{k}" for k in range(env.n)]
        side = course.lane + MARGIN_M
        self._figures, self._forces = [], []
        for k, name in enumerate(self._parts):
            server.scene.add_frame(
                name, show_axes=False, position=(0.0, k * (2 * side + APART_M), 0.0)
            )
            add_course(server, f"{name}/course", course.mirror() if k else course)
            self._figures.append(RobotFigure(server, f"{name}/robot", env.robot))
            self._forces.append(Forces(server, name))
        assert env.camera is not None
        first = self._parts[0]
        self._frustum = add_frustum(
            server, f"{first}/robot/trunk", env.robot, env.camera.cfg.optics
        )
        self._ghost = RobotFigure(server, f"{first}/ghost", env.robot, ghost=True)
        self._ghost.root.visible = False
        self._believed = BelievedGround(server, first, env.spaces.heights.body)
        self._look_at = np.asarray(env.engine.state.base_pos[0], float)

    def show(
        self, env: ParkourEnv, mind: Imagination | None, settings: Settings, tick: bool
    ) -> None:
        """Moves what has moved. At a `tick` the world model has new images, and the `mind` new
        beliefs."""
        state = env.engine.state
        for k, figure in enumerate(self._figures):
            pose = (x[k].numpy() for x in (state.base_pos, state.base_quat, state.joint_pos))
            figure.place(*pose)
            self._forces[k].show(state, k, settings.forces)
        if tick:
            self._show_mind(env, mind, settings)
        if settings.follow:
            base = np.asarray(state.base_pos[0], float)
            far = np.linalg.norm(base - self._look_at) > 3
            self._look_at = base if far else self._look_at + GLIDE * (base - self._look_at)
            self._root.position = -self._look_at + np.array([0.0, 0.0, 0.5])

    def _show_mind(self, env: ParkourEnv, mind: Imagination | None, settings: Settings) -> None:
        state = env.engine.state
        base = np.asarray(state.base_pos[0], float)
        if mind is None or mind.reconstructed is None or mind.predicted is None:
            return
        if settings.ground:
            heading = float(heading_of(state.base_quat)[0])
            believed, true = np.asarray(mind.reconstructed.body[0]), np.asarray(env.heights.body[0])
            self._believed.show(base, heading, believed, true)
        else:
            self._believed.hide()
        felt = mind.predicted_proprioception() if settings.ghost else None
        self._ghost.root.visible = felt is not None
        if felt is not None:
            heading = float(heading_of(state.base_quat)[0])
            pose = np.array(env.robot.default_pose) + felt["joint_pos"][0].numpy()
            lift = float((mind.reconstructed.body[0] - mind.predicted.body[0]).median())
            quat = tilted_quat(heading, felt["gravity"][0].numpy())
            self._ghost.place(base + np.array([0.0, 0.0, lift]), quat, pose)


def sky() -> np.ndarray:
    """The colours of the sky, as in films: from the zenith to the horizon."""
    share = np.linspace(0, 1, 64)[:, None, None]
    colours = (1 - share) * np.array(LOOK.sky_top) + share * np.array(LOOK.sky_low)
    return (255 * colours.repeat(2, 1)).astype(np.uint8)


def tilted_quat(heading_rad: float, gravity_b: np.ndarray) -> np.ndarray:
    """The orientation with this heading in which gravity points there in the body frame."""
    up_b = -gravity_b / np.linalg.norm(gravity_b)
    ahead_w = np.array([np.cos(heading_rad), np.sin(heading_rad), 0.0])
    ahead_b = np.array([1.0, 0.0, 0.0]) - up_b[0] * up_b
    ahead_b /= np.linalg.norm(ahead_b)
    up_w = np.array([0.0, 0.0, 1.0])
    body = np.column_stack([ahead_b, np.cross(up_b, ahead_b), up_b])
    world = np.column_stack([ahead_w, np.cross(up_w, ahead_w), up_w])
    return quat_of(world @ body.T)
