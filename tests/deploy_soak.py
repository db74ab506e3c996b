"""A controller in the other simulator with faults thrown in: every command is judged.

`python deploy_soak.py BUNDLE MINUTES` lives so many minutes of simulated time, trial after trial,
and watches memory. States go missing, are old, NaN or huge; images go missing, are old, empty or
wild; the operator changes his mind, or asks for speeds and headings that are none.
"""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from gate_cases import STRANGE, Judge
from swap.deploy.bundle import read_bundle
from swap.deploy.controller import Controller, ControllerCfg
from swap.deploy.depth import training_lens
from swap.deploy.messages import REQUESTS, Codec, Operator
from swap.deploy.runtime import Runtime
from swap.evaluate.success import course_of
from swap.robots import Robot
from swap.runs.config import from_json
from swap.sim2sim.cfg import SimCfg, Trial
from swap.sim2sim.measure import other_motors
from swap.sim2sim.process import TrialLoop

FAULT = 0.01
"""Chance of a fault in a message."""
GROWTH = 0.01
"""Memory that grows by more than this share is a failure."""
FAMILIES = ("flat", "box", "gap", "stairs")


class FaultyWires:
    """Both ends of a link in one process; what comes through is not always what was sent."""

    def __init__(self, bundle, motors, runtime, draw):
        self.motors, self.draw, self.spec = motors, draw, bundle.spec
        cfg = ControllerCfg(0.3, 0.2)
        lens = training_lens(bundle.spec.camera)
        self.controller = Controller(bundle, motors, lens, cfg, runtime)
        self.codec, self.judge = Codec(len(motors), (1, 1)), Judge(bundle.spec, list(motors))
        self.wrong, self.commands, self.modes = [], 0, Counter()
        self.command, self.heard = None, None

    def strange(self, x):
        x = np.array(x, np.float32)
        with np.errstate(over="ignore"):
            x.flat[self.draw.integers(x.size)] = STRANGE[self.draw.integers(len(STRANGE))]
        return x

    def put_depth(self, image, now_s):
        kind = self.draw.integers(4) if self.draw.random() < 5 * FAULT else None
        if kind == 0:
            return
        if kind == 1:
            image = replace(image, time_s=image.time_s - self.draw.uniform(0, 2))
        elif kind == 2:
            image = replace(image, metres=image.metres * 0)
        elif kind == 3:
            image = replace(image, metres=self.strange(image.metres))
        self.controller.on_depth(image)

    def put_state(self, state, now_s):
        kind = self.draw.integers(4) if self.draw.random() < FAULT / 10 else None
        if kind == 0:
            state = replace(state, time_s=state.time_s - self.draw.uniform(0, 0.2))
        elif kind in (1, 2):
            name = ("pos", "vel", "quat", "gyro")[self.draw.integers(4)]
            state = replace(state, **{name: self.strange(getattr(state, name))})
        if kind != 3 or self.heard is None:
            self.heard = state
            self.controller.on_state(state)
        self.controller.on_operator(self.request(), now_s)
        with np.errstate(all="ignore"):
            sent = self.codec.pack_command(self.controller.step(now_s))
        self.command = self.codec.unpack_command(sent)
        self.wrong += self.judge.faults(self.command, self.heard, None, False)
        self.commands += 1
        self.modes[str(self.controller.mode)] += 1

    def request(self):
        """Mostly to go on; when damped, after a while, to stand again."""
        mode = str(self.controller.mode)
        told = {"passive": "stand", "stand up": "run"}.get(mode, "")
        if mode == "damped" and self.draw.random() < 0.02:
            told = "stand"
        if self.draw.random() < FAULT / 50:
            told = REQUESTS[self.draw.integers(len(REQUESTS))]
        forward_mps, heading_rad = float(self.draw.uniform(-1, 3)), 0.0
        if self.draw.random() < FAULT:
            forward_mps, heading_rad = map(float, self.draw.choice(STRANGE, 2))
        return Operator(told, forward_mps, heading_rad=heading_rad)

    def wait(self, kind, timeout_s):
        return True

    def get_command(self):
        return self.command


def soak(bundle, seconds, seed=0):
    """Commands, what was wrong with them, reasons, steps by mode, MiB over time."""
    robot = from_json(Robot, bundle.spec.robot_data, "robot")
    motors, runtime, lived, k = other_motors(robot), Runtime(bundle), 0.0, 0
    commands, wrong, reasons, modes, memory = 0, [], Counter(), Counter(), []
    while lived < seconds:
        draw = np.random.default_rng([seed, k])
        course = course_of(FAMILIES[k % len(FAMILIES)], 0.3, k, seed=seed, side="both")
        wires = FaultyWires(bundle, motors, runtime, draw)
        trial = Trial(course, k, time_s=8.0)
        loop = TrialLoop(wires, robot, motors, bundle.spec.camera, SimCfg(), trial, "rays", 3.0)
        loop.run(real_time=False)
        lived += float(loop.body.data.time)
        k, commands, wrong = k + 1, commands + wires.commands, wrong + wires.wrong
        reasons.update(what for _, what in wires.controller.events if ":" in what)
        modes += wires.modes
        memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20)
    return commands, wrong, reasons, modes, memory


if __name__ == "__main__":
    told = soak(read_bundle(Path(sys.argv[1])), 60 * float(sys.argv[2]))
    print(f"{told[0]:,} commands, {len(told[1])} beyond a limit; steps: {dict(told[3])}")
    print(f"reasons: {dict(told[2])}")
    early, late = told[4][len(told[4]) // 4], told[4][-1]
    print(f"memory: {early:.0f} MiB after a quarter, {late:.0f} at the end")
    print(*told[1][:10], sep="\n")
    sys.exit(1 if told[1] or late > (1 + GROWTH) * early else 0)
