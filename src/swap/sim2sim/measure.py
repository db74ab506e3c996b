"""Measures how often a bundle succeeds in the other simulator: the controller's side of a trial."""

import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from swap.courses import FAMILIES, size_of
from swap.deploy.bundle import Bundle
from swap.deploy.controller import Controller, ControllerCfg, Mode
from swap.deploy.joints import MotorChannel
from swap.deploy.messages import Operator
from swap.deploy.runtime import Runtime
from swap.deploy.transport import SharedMemory
from swap.errors import UserError
from swap.evaluate.success import Side, course_of
from swap.evaluate.wilson import wilson
from swap.robots import Robot
from swap.runs.config import from_json
from swap.signals import start_without_ctrl_c
from swap.sim2sim.camera import Renderer
from swap.sim2sim.cfg import SUCCESS, SimCfg, Trial, TrialOutcome
from swap.sim2sim.process import serve

STAND_S, BLEND_S = 0.3, 0.2
"""A trial's robot starts on its feet."""
WAIT_S = 0.002
STATE_S = 30.0


def other_motors(robot: Robot) -> tuple[MotorChannel, ...]:
    """The simulated robot's own list of motors: another order, another sense, other zeros."""
    names = sorted(robot.joint_names, reverse=True)
    return tuple(MotorChannel(name, (-1) ** k, 0.05 * k) for k, name in enumerate(names))


class Simulation:
    """The robot's process, and the controller's end of the link to it."""

    def __init__(
        self,
        bundle: Bundle,
        cfg: SimCfg | None = None,
        renderer: Renderer = "rays",
        real_time: bool = False,
    ) -> None:
        self.bundle, self.cfg, self.real_time = bundle, cfg or SimCfg(), real_time
        self._renderer = renderer
        robot = from_json(Robot, bundle.spec.robot_data, "robot")
        self._motors = other_motors(robot)
        self._robot, self._runtime = robot, Runtime(bundle)
        self.events: list[tuple[float, str]] = []
        """Of the last trial's controller."""

    def __enter__(self) -> "Simulation":
        spawn = multiprocessing.get_context("spawn")
        place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
        self._path = place / f"swap-sim2sim-{os.getpid()}-{id(self)}"
        self._wire, other = spawn.Pipe()
        given = (self._robot, self._motors, self.bundle.spec.camera, self.cfg, self._renderer)
        self._process = spawn.Process(
            target=serve, args=(other, self._path, *given, self.real_time), daemon=True
        )
        start_without_ctrl_c(self._process.start)
        other.close()
        try:
            self._receive()
            self._link = SharedMemory.join(self._path)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.is_alive() and kind is None:
            self._wire.send(None)
            self._process.join(5)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(5)
        self._path.unlink(missing_ok=True)  # a process that is terminated leaves it behind
        self._wire.close()

    def run(self, trial: Trial) -> TrialOutcome:
        """One trial with a controller that knows the robot by its messages."""
        link = self._link
        controller = Controller(
            self.bundle,
            link.motors,
            link.lens,
            ControllerCfg(STAND_S, BLEND_S),
            runtime=self._runtime,
        )
        self._wire.send(trial)
        go = Operator("", trial.speed_mps, heading_rad=0.0)
        while not self._wire.poll():
            if not link.wait("state", WAIT_S):
                continue
            state, image = link.get_state(), link.get_depth()
            now = time.monotonic() if self.real_time else link.now_s
            if state is None:
                continue
            controller.on_state(state)
            if image is not None:
                controller.on_depth(image)
            controller.on_operator(_request(controller, go, now), now)
            link.put_command(controller.step(now), now)
        self.events = controller.events
        outcome: TrialOutcome = self._receive()
        for _ in range(2):  # what was left behind is not of the next trial
            link.get_state(), link.get_depth()
        return outcome

    def _receive(self) -> Any:
        try:
            answer = self._wire.recv()
        except EOFError:
            raise UserError("the simulated robot's process ended; see what it printed") from None
        if isinstance(answer, UserError):
            raise answer
        return answer


def _request(controller: Controller, go: Operator, now_s: float) -> Operator:
    """Stand up, then go."""
    if controller.mode is Mode.PASSIVE:
        return Operator("stand", heading_rad=0.0)
    if controller.mode is Mode.STAND_UP and controller.ready_to_run(now_s):
        return Operator("run", go.forward_mps, heading_rad=go.heading_rad)
    return go


def measure(
    bundle: Bundle,
    wanted: Sequence[tuple[str, float]],
    *,
    trials: int,
    speed_mps: float = 1.0,
    seed: int = 1,
    side: Side = "both",
    cfg: SimCfg | None = None,
    renderer: Renderer = "rays",
    real_time: bool = False,
    told: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """A row a point, as `swap eval` has it; `told` hears how many trials of all have ended."""
    with Simulation(bundle, cfg, renderer, real_time) as simulation:
        for row, (family, difficulty) in enumerate(wanted):
            reasons: Counter[str] = Counter()
            for k in range(trials):
                course = course_of(family, difficulty, k, seed=seed, side=side)
                trial = Trial(course, seed * 1_000_003 + k, speed_mps, 20.0 / min(speed_mps, 1.0))
                outcome = simulation.run(trial)
                reason = outcome.reason
                if reason == "damped":
                    reason = simulation.events[-1][1]
                reasons[reason] += 1
                if told is not None:
                    told(row * trials + k + 1, len(wanted) * trials)
            won = reasons.pop(SUCCESS, 0)
            low, high = wilson(won, trials)
            yield {
                "family": family,
                "size": size_of(family, difficulty),
                "unit": FAMILIES[family].size.unit,
                "trials": trials,
                "success": won / trials,
                "low": low,
                "high": high,
                "failures": ", ".join(f"{name} {n}" for name, n in reasons.most_common()),
            }
