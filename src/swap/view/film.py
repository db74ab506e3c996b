"""Writes a film: draws and annotates one world for each frame."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from torch import Tensor

from swap.courses.course import Boxes
from swap.robots import Robot
from swap.sim import State
from swap.view.camera import ChaseCamera, ChaseCameraCfg, FilmCamera
from swap.view.overlay import annotate
from swap.view.render import PictureCfg, Renderer
from swap.view.scene import scene_of
from swap.view.video import Video


class Film:
    """One robot's film. At 50 frames per second, one frame per control step is real time."""

    def __init__(
        self,
        robot: Robot,
        path: str | Path,
        *,
        fps: float = 50,
        look: PictureCfg | None = None,
        camera: FilmCamera | None = None,
        device: str | None = None,
    ) -> None:
        """Without a camera, one follows the robot. `device` is where rays are cast."""
        self.robot = robot
        self.camera = camera or ChaseCamera(ChaseCameraCfg.of(robot))
        self._render = Renderer(robot, look, device)
        self.video = Video(path, fps)

    @property
    def width(self) -> int:
        return self._render.look.width

    def frame(
        self,
        state: State,
        boxes: Boxes,
        world: int = 0,
        *,
        depth: Tensor | np.ndarray | None = None,
        command: Tensor | Sequence[float] | None = None,
        caption: str = "",
        below: np.ndarray | None = None,
    ) -> np.ndarray:
        """Appends a picture of the world as it is now, with another picture `below` it if given;
        returns the picture [height, width, 3]."""
        scene = scene_of(self.robot, state, boxes, world)
        view = self.camera(scene, 1.0 / self.video.fps)
        picture = annotate(
            self._render(scene, view),
            depth=depth,
            command=command,
            speed=scene.forward_speed if command is not None else None,
            caption=caption,
            time_s=scene.time_s,
        )
        if below is not None:
            picture = np.vstack([picture, below])
        self.video.add(picture)
        return picture

    def close(self) -> None:
        self.video.close()

    def __enter__(self) -> "Film":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.video.__exit__(kind, error, trace)
