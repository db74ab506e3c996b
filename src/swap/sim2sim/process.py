"""The robot's process: takes trials from a pipe, runs them, and talks to its controller by a link.

In lock-step it waits for the answer to every state: a trial then depends on its seed alone. In real
time it waits for the clock, and takes whatever command has come.
"""

import contextlib
import threading
import time
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from swap.deploy.depth import training_lens
from swap.deploy.joints import MotorChannel
from swap.deploy.messages import DepthImage, MotorCommand, RobotState
from swap.deploy.spec import DepthCameraSpec
from swap.deploy.transport import SharedMemory
from swap.errors import UserError
from swap.robots import Robot
from swap.sim2sim.body import SimulatedRobot
from swap.sim2sim.camera import Camera, Renderer
from swap.sim2sim.cfg import SimCfg, Trial, TrialOutcome, random_source
from swap.sim2sim.referee import BLOW_S, EVERY_S, Referee

ANSWER_S = 20.0
"""A controller that does not answer for so long is gone."""
NO_CONTROLLER = "no controller"
"""The reason of a trial in which nobody answered, or sent a command."""
DAMPED_S = 1.0
"""So long after the controller gave up, the trial is over."""


def serve(
    wire: Connection,
    path: Path,
    robot: Robot,
    motors: tuple[MotorChannel, ...],
    camera: DepthCameraSpec,
    cfg: SimCfg,
    renderer: Renderer,
    real_time: bool,
) -> None:
    """Until the pipe ends: a Trial comes, a TrialOutcome goes. `None` ends it, and so does a
    UserError, which goes to whom it concerns."""
    with contextlib.ExitStack() as stack:
        try:
            link = SharedMemory.make(path, motors, training_lens(camera))
            stack.callback(link.close)
            wire.send("ready")
            while (trial := wire.recv()) is not None:
                loop = TrialLoop(link, robot, motors, camera, cfg, trial, renderer)
                wire.send(loop.run(real_time))
        except EOFError:
            pass
        except UserError as error:
            wire.send(error)


class TrialLoop:
    """One trial."""

    def __init__(
        self,
        link: SharedMemory,
        robot: Robot,
        motors: tuple[MotorChannel, ...],
        camera: DepthCameraSpec,
        cfg: SimCfg,
        trial: Trial,
        renderer: Renderer,
        patience_s: float = DAMPED_S,
        go: threading.Event | None = None,
    ) -> None:
        """`patience_s`: a robot that is limp for so long, or never hears a command, has failed.
        `go`: it hangs in the air until its motors are stiff, and its trial begins with this;
        without it, with those."""
        self.link, self.cfg, self.trial = link, cfg, trial
        self._patience_s, self._go, self._hangs = patience_s, go, go is not None
        self.body = SimulatedRobot(robot, motors, cfg, trial)
        self.camera = Camera(self.body, camera, trial, renderer)
        self.referee = Referee(self.body, trial.course, trial.time_s)
        self._late = random_source(trial, "latency")
        self._images: deque[tuple[float, DepthImage]] = deque()
        self._commands: deque[tuple[float, MotorCommand]] = deque()
        self._now: MotorCommand | None = None
        self._known: RobotState | None = None
        self._feel_at = 0
        self._limp_s = 0.0

    def run(self, real_time: bool) -> TrialOutcome:
        cfg = self.cfg
        every, blow = (round(x / cfg.timestep_s) for x in (EVERY_S, BLOW_S))
        origin, step, reason = time.monotonic() if real_time else 0.0, 0, None
        while reason is None:
            now = origin + step * cfg.timestep_s
            if real_time and (early := now - time.monotonic()) > 0:
                time.sleep(early)
            self._sense(step, now)
            if step % cfg.state_every == 0 and not self._exchange(now, real_time):
                reason = NO_CONTROLLER
            while self._commands and self._commands[0][0] <= now:
                self._now = self._commands.popleft()[1]
            self.body.step(self._now)
            if self._hangs:
                self.body.hang()
            step += 1
            if (-step) % every < blow:
                self.referee.feel()
            if step % every == 0:
                reason = reason or self.referee.look() or self._gave_up()
        self.camera.close()
        self.referee.far_m = max(self.referee.far_m, float(self.body.data.qpos[0]))
        return TrialOutcome(reason, self.referee.time_s, self.referee.far_m, self.body.torque_share)

    def _sense(self, step: int, now: float) -> None:
        """States and images are taken now, and come later."""
        cfg = self.cfg
        if step % cfg.image_every == 0:
            taken = self.camera.take()
            image = DepthImage(now, taken.metres)
            self._images.append((now + self._late.uniform(*cfg.image_latency_s), image))
        if step == self._feel_at:
            felt = self.body.state()
            self._known = RobotState(now, felt.quat, felt.gyro, felt.pos, felt.vel, felt.torque)
        if step % cfg.state_every == 0:  # the next is felt so long before it is sent
            age = round(self._late.uniform(*cfg.state_latency_s) / cfg.timestep_s)
            self._feel_at = step + cfg.state_every - min(age, cfg.state_every - 1)

    def _exchange(self, now: float, real_time: bool) -> bool:
        """What has arrived by now is sent, and the answer taken; False if there is none."""
        while self._images and self._images[0][0] <= now:
            self.link.put_depth(self._images.popleft()[1], now)
        assert self._known is not None, "a state is taken before the first exchange"
        self.link.put_state(self._known, now)
        if not real_time and not self.link.wait("command", ANSWER_S):
            return False
        command = self.link.get_command()
        if command is not None:
            self._commands.append((now + self._late.uniform(*self.cfg.command_latency_s), command))
        return True

    def _gave_up(self) -> str | None:
        """A controller that goes limp has given up; one that stiffens has begun."""
        stiff = self._now is not None and bool(np.any(self._now.kp))
        if stiff:
            self._hangs = False
            self._limp_s, self._patience_s = 0.0, DAMPED_S
            if self._go is None or self._go.is_set():
                self.referee.begin()
        else:
            self._limp_s += EVERY_S
        if self._limp_s < self._patience_s:
            return None
        return NO_CONTROLLER if self._now is None else "damped"
