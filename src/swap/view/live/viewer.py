"""Runs the page: simulates at real time, shows it, and does what the driver asks.

All of it happens in one thread. What visitors do arrives in other threads and waits in a queue
until the next control step. Without a visitor nothing is simulated.
"""

import queue
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
import viser

from swap.device.memory import give_back_memory
from swap.env import EndReason
from swap.errors import UserError
from swap.evaluate.success import reason_name
from swap.runs.trained_robot import TrainedRobot, load_trained
from swap.sim import CONTROL_DT
from swap.view.live.clock import RealTimeClock
from swap.view.live.controls import PUSHES, Change, Controls
from swap.view.live.depth_panels import DepthBoard, DepthPanels, depth_pictures
from swap.view.live.recording import Recording
from swap.view.live.server import PageServer
from swap.view.live.settings import Settings
from swap.view.live.stage import Stage
from swap.view.live.world import LiveWorld

UPDATE_EVERY = 2
"""Control steps between two updates of the page at real time: 25 a second."""
STATUS_EVERY = 10
LINGER_S = 1.5
"""So long an attempt that is over is looked at before the next."""
DEPTH_M = -4.0
"""Who falls deeper starts again in any case."""


class Viewer:
    """Call `run` in the main thread; `stop` may be called from any."""

    def __init__(self, server: PageServer, settings: Settings, *, record: bool = False) -> None:
        """`record`: what is shown, to be saved at the end."""
        self.server, self.settings = server, settings
        self._robots: dict[str, TrainedRobot] = {}
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self._visitors: dict[int, viser.ClientHandle] = {}
        self._driver: Controls | None = None
        self._waiting: dict[int, viser.GuiButtonHandle] = {}
        self._running, self._over_s, self._message = True, 0.0, ""
        self.clock = RealTimeClock()
        self.on_status: Callable[[RealTimeClock], object] = lambda clock: None
        """Is called several times a second."""
        self._status = server.gui.add_html("")
        self._panels = DepthPanels(server)
        self._stage = Stage(server)
        self._board = DepthBoard(server) if record else None
        self._enter(settings)
        self.recording = Recording(server, "SWAP") if record else None
        server.on_client_connect(lambda client: self.ask(lambda: self._welcome(client)))
        server.on_client_disconnect(lambda client: self.ask(lambda: self._farewell(client)))

    # --- from any thread ------------------------------------------------------------------------
    def ask(self, event: Callable[[], None]) -> None:
        self._events.put(event)

    def change(self, change: Change) -> None:
        """Changes settings from the next step on."""
        self._changes.put(change)
        self.ask(self._change_all)

    def stop(self) -> None:
        self.ask(self._end)

    # --- the loop -------------------------------------------------------------------------------
    def run(self) -> None:
        while self._running:
            if not self._visitors:
                self._events.get()()  # nobody looks: wait, and do nothing
                self.clock.restart()
                continue
            self._answer()
            if self.settings.paused:
                time.sleep(0.02)
                self.clock.restart()
                continue
            self.advance()
            self.clock.wait(self.settings.rate)

    def advance(self) -> None:
        """Takes one control step and shows it."""
        if self.recording is not None:
            self.recording.wait(CONTROL_DT / self.settings.rate)
        tick = self.world.step()
        every = UPDATE_EVERY if self.settings.rate == 1 else 1
        if self.world.steps % every == 0 or tick:
            self._show(tick)
        if self.world.steps % STATUS_EVERY == 0:
            self._tell()
        self._begin_again()

    def _answer(self) -> None:
        while True:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return
            event()

    def _end(self) -> None:
        self._running = False

    def _begin_again(self) -> None:
        reason, _ = self.world.end
        z = float(self.world.env.engine.state.base_pos[:, 2].min())
        over = reason != EndReason.RUNNING and self.settings.again
        self._over_s = self._over_s + CONTROL_DT if over else 0.0
        if self._over_s > LINGER_S or z < DEPTH_M:
            self._reset()

    # --- what is shown --------------------------------------------------------------------------
    def _show(self, tick: bool) -> None:
        with self.server.atomic():
            self._stage.show(self.world.env, self.world.imagination, self.settings, tick)
        if tick:
            world = self.world
            pictures = depth_pictures(world.true_depth[0], world.seen[0], world.imagination)
            self._panels.show(pictures)
            if self._board is not None:
                self._board.show(pictures)
        self.clock.sent()

    def _tell(self) -> None:
        world, state = self.world, self.world.env.engine.state
        reason, when_s = world.end
        command = np.asarray(world.obs["command"][0])
        how = "under way" if reason == EndReason.RUNNING else reason_name(reason)
        rows = {
            "course": self.settings.course.title,
            "time": f"{world.time_s:.1f} s",
            "attempt": how if reason == EndReason.RUNNING else f"{how} after {when_s:.1f} s",
            "command": f"{command[0]:.2f} ahead, {command[1]:.2f} left, {command[2]:.2f} turn",
            "position": f"{float(state.base_pos[0, 0]):.2f} m",
            "real-time": "paused" if self.settings.paused else pace(self.clock),
            "visitors": f"{len(self._visitors)}",
        }
        if world.mirrored:
            rows["mirror"] = f"{1000 * world.apart_m:.3f} mm from the mirror image"
        if self._message:
            rows["note"] = self._message
        self._status.content = table(rows)
        self.on_status(self.clock)

    # --- what is asked for ----------------------------------------------------------------------
    def _change_all(self) -> None:
        """Makes all changes that were asked for by now, at once: a slider that is dragged asks for
        many, and each may need a new world."""
        wanted, asked = self.settings, False
        while not self._changes.empty():
            asked = True
            try:
                wanted, self._message = self._changes.get()(wanted), ""
            except UserError as error:
                self._message = str(error)
        if asked:
            self._take(wanted)

    def _take(self, wanted: Settings) -> None:
        before, self.settings = self.settings, wanted
        try:
            if wanted.needs_new_world(before):
                self._enter(wanted)
        except UserError as error:
            self.settings, self._message = before, str(error)
        if self.settings.command != self.world.command:
            self.world.drive(self.settings.command)
        if self.settings.faults != self.world.faults:
            self.world.set_faults(self.settings.faults)
        if self._driver is not None:
            self._driver.sync(self.settings)
        self._show(tick=False)
        self._tell()

    def _enter(self, s: Settings) -> None:
        """Makes a new world and draws it."""
        if s.model not in self._robots:
            self._robots[s.model] = load_trained(Path(s.model))
        self.world = LiveWorld(
            self._robots[s.model],
            s.course.build(),
            mirrored=s.mirrored,
            seed=s.course.seed,
            command=s.command,
            faults=s.faults,
        )
        self._over_s = 0.0
        give_back_memory()
        self._stage.set(self.world.env, self.world.course)
        self._stage.show(self.world.env, self.world.imagination, s, tick=False)

    def _reset(self) -> None:
        self.world.reset()
        self._over_s = 0.0
        self._show(tick=False)

    def _push(self, forward_mps: float, left_mps: float) -> None:
        self.world.push(forward_mps, left_mps)  # of the world that there is then

    def _one_step(self) -> None:
        self._take(replace(self.settings, paused=True))
        self.advance()
        self._show(tick=True)
        self._tell()

    # --- visitors -------------------------------------------------------------------------------
    def _welcome(self, client: viser.ClientHandle) -> None:
        if not self.server.is_own_page(client):
            return
        self._visitors[client.client_id] = client
        if self._driver is None:
            self._hand_over(client)
        else:
            self._offer(client)
        self._tell()

    def _farewell(self, client: viser.ClientHandle) -> None:
        self._visitors.pop(client.client_id, None)
        self._waiting.pop(client.client_id, None)
        if self._driver is not None and self._driver.client.client_id == client.client_id:
            self._driver = None
            if self._visitors:
                self._hand_over(next(iter(self._visitors.values())))
        self._tell()

    def _offer(self, client: viser.ClientHandle) -> None:
        """Offers a visitor who watches to take over."""
        button = client.gui.add_button("You watch. Take the wheel")
        button.on_click(lambda _: self.ask(lambda: self._hand_over(client)))
        self._waiting[client.client_id] = button

    def _hand_over(self, client: viser.ClientHandle) -> None:
        if client.client_id not in self._visitors:
            return
        if button := self._waiting.pop(client.client_id, None):
            button.remove()
        if self._driver is not None:
            self._driver.remove()
            self._offer(self._driver.client)
        act = {
            "reset": partial(self.ask, self._reset),
            "one step": partial(self.ask, self._one_step),
        }
        for name, (ahead, left) in PUSHES.items():
            act[name] = partial(self.ask, partial(self._push, ahead, left))
        self._driver = Controls(client, self.change, act, self.settings)


def pace(clock: RealTimeClock) -> str:
    """The speed in words: `1.00 of real time, up to 1.9; 30 updates/s`."""
    could = f"{clock.speed:.2f} of real time, up to {clock.reserve:.1f}"
    return f"{could}; {clock.updates_per_s:.0f} updates/s"


def table(rows: dict[str, str]) -> str:
    """The rows as HTML; every value has its own id, such as `swap-time`."""
    lines = [
        f"<tr><td style='opacity:.6;padding-right:.8em'>{escape(name)}</td>"
        f"<td id='swap-{escape(name)}'>{escape(value)}</td></tr>"
        for name, value in rows.items()
    ]
    return f"<table style='font-size:.8em;margin:.5em .8em'>{''.join(lines)}</table>"
