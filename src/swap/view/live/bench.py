"""Measures whether the page keeps real time: how fast physics and networks are, and how many
updates a visitor gets.

The visitor is a process of its own that reads all and draws nothing: browsers draw on a GPU.
"""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.queues import Queue
from typing import Any

from swap.signals import start_without_ctrl_c
from swap.view.live.server import PageServer
from swap.view.live.settings import Settings
from swap.view.live.viewer import Viewer

WARM_S = 3.0
"""The first seconds are not counted."""


def measure(settings: Settings, seconds: float) -> Iterator[dict[str, Any]]:
    """A row for each of three pages: the plain one, all switches on, and two robots."""
    every = replace(settings, forces=True, ground=True, ghost=True)
    pages = {
        "one robot, depth panels": settings,
        "and forces, ground, ghost": every,
        "and its mirror image": replace(every, mirrored=True),
    }
    for name, chosen in pages.items():
        yield {"page": name, **measure_page(chosen, seconds)}


def measure_page(settings: Settings, seconds: float) -> dict[str, float]:
    server = PageServer(port=0)
    spawn = multiprocessing.get_context("spawn")
    answers: Queue[tuple[int, int]] = spawn.Queue()
    visitor = spawn.Process(target=visit, args=(server.url, WARM_S, seconds, answers), daemon=True)
    try:
        viewer = Viewer(server, settings)
        start_without_ctrl_c(visitor.start)

        def stop_after_visit() -> None:
            visitor.join()
            viewer.stop()

        threading.Thread(target=stop_after_visit, daemon=True).start()
        speeds: list[tuple[float, float, float]] = []
        viewer.on_status = lambda clock: speeds.append(
            (clock.speed, clock.reserve, clock.updates_per_s)
        )
        viewer.run()
        frames, size = answers.get(timeout=10)
    finally:
        if visitor.is_alive():  # after Ctrl-C; it would complain that the page is gone
            visitor.kill()
            visitor.join()
        server.stop()
    counted = speeds[len(speeds) // 3 :]
    speed, reserve, updates = (sum(column) / len(counted) for column in zip(*counted, strict=True))
    return {
        "of real time": speed,
        "without waiting": reserve,
        "updates/s": updates,
        "received/s": frames / seconds,
        "kB/s": size / seconds / 1000,
    }


def visit(url: str, warm_s: float, seconds: float, answers: "Queue[tuple[int, int]]") -> None:
    """Reads a page's messages for so long; counts them and their bytes."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    hello = {
        "type": "ViewerCameraMessage",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (-3.0, -3.0, 2.0),
        "fov": 1.0,
        "near": 0.01,
        "far": 100.0,
        "image_height": 720,
        "image_width": 1280,
        "look_at": (0.0, 0.0, 0.0),
        "up_direction": (0.0, 0.0, 1.0),
    }
    frames = size = 0
    protocol: Any = f"viser-v{viser.__version__}"
    with connect(url.replace("http", "ws"), subprotocols=[protocol], max_size=None) as socket:
        socket.send(msgspec.msgpack.encode(hello))
        start = time.monotonic() + warm_s
        while (now := time.monotonic()) < start + seconds:
            got = socket.recv(timeout=30)
            if now > start:
                frames, size = frames + 1, size + len(got)
    answers.put((frames, size))
