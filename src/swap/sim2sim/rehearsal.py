"""A simulated robot that waits, in real time, for a controller which somebody else has started."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from swap.deploy.bundle import Bundle
from swap.deploy.depth import training_lens
from swap.deploy.messages import Operator
from swap.deploy.transport import SharedMemory
from swap.robots import Robot
from swap.runs.config import from_json
from swap.sim2sim.camera import Renderer
from swap.sim2sim.cfg import SimCfg, Trial, TrialOutcome
from swap.sim2sim.measure import other_motors
from swap.sim2sim.process import TrialLoop

RUN_AFTER_S = 3.0
"""From the first command of a controller until the robot is told to run: by then it stands."""


def rehearse(
    bundle: Bundle,
    path: Path,
    trial: Trial,
    cfg: SimCfg,
    renderer: Renderer,
    patience_s: float,
    say: Callable[[str], None] = print,
) -> TrialOutcome:
    """One trial for whoever joins the link at `path`; until then it hangs in the air, and waits for
    `patience_s`."""
    robot = from_json(Robot, bundle.spec.robot_data, "robot")
    motors, camera = other_motors(robot), bundle.spec.camera
    link = SharedMemory.make(path, motors, training_lens(camera))
    over, go = threading.Event(), threading.Event()
    operator = threading.Thread(target=_operate, args=(link, trial.speed_mps, go, over))
    try:
        say(f"the robot waits: python -m swap.deploy run {bundle.path} --shm {path} --armed")
        loop = TrialLoop(link, robot, motors, camera, cfg, trial, renderer, patience_s, go)
        operator.start()
        return loop.run(real_time=True)
    finally:
        over.set()
        if operator.ident is not None:
            operator.join()
        link.close()


def _operate(
    link: SharedMemory, speed_mps: float, go: threading.Event, over: threading.Event
) -> None:
    """Requests of an operator: stand, until there are answers; then, when it stands, run."""
    since: float | None = None
    while not over.wait(0.2):
        now = time.monotonic()
        since = now if since is None and link.peek("command") else since
        if since is not None and now - since > RUN_AFTER_S:
            link.put_operator(Operator("run", speed_mps, heading_rad=0.0), now)
            go.set()
        else:
            link.put_operator(Operator("stand", heading_rad=0.0), now)
