"""Records what the scene shows, as one HTML file that plays in any browser, without Python.

It holds viser's own player and the scene's messages with their times; it loads nothing.
"""

import html
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from swap.courses import Course
from swap.env import ParkourEnv
from swap.evaluate.imagination import Imagination
from swap.files import atomic_write
from swap.sim import CONTROL_DT
from swap.view.live.depth_panels import DepthBoard, depth_pictures
from swap.view.live.server import PageServer
from swap.view.live.settings import Settings
from swap.view.live.stage import Stage

LONGEST_S = 300.0
"""More is not recorded."""


class Recording:
    """Records all that a server's scene shows from now on."""

    def __init__(self, server: PageServer, title: str) -> None:
        self._scene, self._title = server.get_scene_serializer(), title
        self.length_s = 0.0
        self._page = ""  # when it is full

    def wait(self, seconds: float) -> None:
        """Keeps what is shown now for so many seconds."""
        if self._page:
            return
        self._scene.insert_sleep(seconds)
        self.length_s += seconds
        if self.length_s >= LONGEST_S:  # from here on nothing is kept
            self._page = self._scene.as_html()

    def save(self, path: Path) -> None:
        """Writes the file; call it once, at the end."""
        page = self._page or self._scene.as_html()
        page = page.replace("<title>Viser</title>", f"<title>{html.escape(self._title)}</title>")
        with atomic_write(path) as file:
            file.write_text(page, encoding="utf-8")


class RecordedAttempts:
    """Records attempts of `swap play` one after the other, in a scene that nobody watches."""

    def __init__(self, title: str, every: int = 2) -> None:
        """`every`: so many control steps are one frame."""
        self._server = PageServer(port=0)
        self._stage, self._board = Stage(self._server), DepthBoard(self._server)
        self._recording = Recording(self._server, title)
        self._every = every
        self._show = Settings(ground=True, forces=True)

    def begin(self, env: ParkourEnv, course: Course) -> None:
        self._steps = 0
        self._stage.set(env, course)

    def add(self, env: ParkourEnv, mind: Imagination | None, obs: Mapping[str, Tensor]) -> None:
        """Adds a control step."""
        assert env.camera is not None
        tick = self._steps % env.camera.cfg.every == 0
        if tick:
            pictures = depth_pictures(obs["depth_clean"][0], obs["depth_noisy"][0], mind)
            self._board.show(pictures)
        if tick or self._steps % self._every == 0:
            self._stage.show(env, mind, self._show, tick)
        self._recording.wait(CONTROL_DT)
        self._steps += 1

    def save(self, path: Path) -> None:
        self._recording.save(path)

    def close(self) -> None:
        self._server.stop()
