"""The controller: a state machine around the policy, with the gate behind it.

    passive --stand--> stand up --run--> blend in --> run --stand--> stand up
    any of them --fault, or damp--> damped --passive or stand--> ...
    anything --stop--> stopped, for good

It knows neither clocks nor wires: whoever has them calls `on_...` with what has come and `step`
with the time, as often as commands are to be sent. The same calls give the same commands again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from swap.deploy.bundle import Bundle
from swap.deploy.depth import DepthBuffer, DepthPreparation, Lens
from swap.deploy.gate import JointCommand, SafetyGate
from swap.deploy.joints import JointMap, MotorChannel, plain_motors
from swap.deploy.messages import DepthImage, MotorCommand, Operator, RobotState
from swap.deploy.observations import ObservationBuilder, gravity_of
from swap.deploy.runtime import Runtime
from swap.deploy.watchdogs import Deadlines, Fault, depth_fault, state_fault, tilt_fault
from swap.validate import check_numbers

EARLY_S = 1e-4
"""A decision may come this much before its time: clocks round."""


class Mode(StrEnum):
    PASSIVE = "passive"
    STAND_UP = "stand up"
    BLEND_IN = "blend in"
    RUN = "run"
    DAMPED = "damped"
    STOPPED = "stopped"


ACTIVE = (Mode.STAND_UP, Mode.BLEND_IN, Mode.RUN)
LEARNED = (Mode.BLEND_IN, Mode.RUN)
"""Where the policy decides."""


@dataclass(frozen=True)
class ControllerCfg:
    """How gently it begins."""

    stand_s: float = 2.0
    """From any pose to the default one."""
    blend_s: float = 1.0
    """The policy's share grows from nothing to all."""

    def __post_init__(self) -> None:
        check_numbers(self, "controller.", not_negative=("stand_s", "blend_s"))


class Controller:
    """One robot's. Begins passive."""

    def __init__(
        self,
        bundle: Bundle,
        motors: Sequence[MotorChannel] | None = None,
        lens: Lens | None = None,
        cfg: ControllerCfg | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        """`runtime`: one that is there already; it is reset before it acts."""
        spec = self.spec = bundle.spec
        self.cfg = cfg or ControllerCfg()
        self.joints = JointMap(spec, motors or plain_motors(spec))
        self.gate, self.runtime = SafetyGate(spec), runtime or Runtime(bundle)
        self.mode, self.reason = Mode.PASSIVE, Fault.NONE
        self.events: list[tuple[float, str]] = []
        """What happened, with its time; whoever tells it may clear it."""
        self.prepare, self._images = DepthPreparation(spec.camera, lens), DepthBuffer(spec.camera)
        self._observations = ObservationBuilder(spec)
        self._deadlines = Deadlines(spec.control_period_s, spec.limits)
        self._default = np.array([joint.default_rad for joint in spec.joints])
        self._state: RobotState | None = None
        self._said = ""
        self._operator = Operator()
        self._since_s = self._next_s = 0.0
        self._from = self._target = self._default

    # --- what has come --------------------------------------------------------------------------
    def on_state(self, state: RobotState) -> None:
        self._state = state

    def on_depth(self, image: DepthImage) -> None:
        self._images.put(image)

    def on_operator(self, operator: Operator, now_s: float) -> None:
        """Speeds count from the next decision on; a request changes the mode now, if it may."""
        self._operator = operator
        mode, request = self.mode, operator.request
        if mode is Mode.STOPPED or not request:
            return
        if request == "stop":
            self._enter(Mode.STOPPED, now_s, Fault.STOP)
        elif request == "damp":
            self._enter(Mode.DAMPED, now_s)
        elif request == "passive":
            self._enter(Mode.PASSIVE, now_s)
        elif fault := state_fault(self._state, now_s, self.spec.limits):
            self._say(now_s, f"cannot {request}: {fault}")
        elif request == "stand" and mode is not Mode.STAND_UP:
            self._enter(Mode.STAND_UP, now_s)
        elif request == "run" and mode is Mode.STAND_UP:
            if fault := self._depth_fault(now_s):
                self._say(now_s, f"cannot run: {fault}")
            elif not self.ready_to_run(now_s):
                self._say(now_s, "cannot run: it is not standing yet")
            else:
                self._enter(Mode.BLEND_IN, now_s)
        elif request == "run" and mode not in LEARNED:
            self._say(now_s, "cannot run: let it stand first")

    def ready_to_run(self, now_s: float) -> bool:
        """It has stood up, and sees."""
        stood = now_s - self._since_s >= self.cfg.stand_s - EARLY_S
        return self.mode is Mode.STAND_UP and stood and not self._depth_fault(now_s)

    # --- what goes out --------------------------------------------------------------------------
    def step(self, now_s: float) -> MotorCommand:
        """The command for now. Never raises for what came in: what is wrong is damped."""
        if self.mode in ACTIVE:
            found = self._active(now_s)
            if isinstance(found, JointCommand):
                return self.joints.command(now_s, *found)
            self._enter(Mode.DAMPED, now_s, found)
        safe = self.gate.passive() if self.mode is Mode.PASSIVE else self._damping()
        return self.joints.command(now_s, *safe)

    def _active(self, now_s: float) -> JointCommand | Fault:
        """A command towards the target, which is a new one if it is time."""
        state, limits = self._state, self.spec.limits
        fault = state_fault(state, now_s, limits)
        if fault or state is None:
            return fault
        gravity = gravity_of(state.quat)
        if fault := tilt_fault(gravity, limits):
            return fault
        pos, vel = self.joints.joints(state)
        if now_s >= self._next_s - EARLY_S:
            # Kept on a grid: a late decision does not push the later ones back, unless by a step.
            period = self.spec.control_period_s
            behind = now_s - self._next_s > period
            self._next_s = (now_s if behind else self._next_s) + period
            if fault := self._deadlines.fault(now_s):
                return fault
            if fault := self._decide(now_s, state, gravity, pos, vel):
                return fault
        return self.gate.command(self._target, pos, vel) or Fault.UNSAFE

    def _decide(
        self,
        now_s: float,
        state: RobotState,
        gravity: np.ndarray,
        pos: np.ndarray,
        vel: np.ndarray,
    ) -> Fault:
        """A new target, or why there is none."""
        if self.mode is Mode.BLEND_IN and self._share(now_s, self.cfg.blend_s) >= 1:
            self._enter(Mode.RUN, now_s)
        if self.mode is Mode.STAND_UP:
            share = self._share(now_s, self.cfg.stand_s)
            desired = self._from + share * (self._default - self._from)
        else:
            command = self._observations.command(self._operator, state.quat)
            felt, history = self._observations.observe(state.gyro, gravity, pos, vel, command)
            if self.runtime.due:
                image = self._images.get(now_s)
                if (fault := self._depth_fault(now_s)) or image is None:
                    return fault
                self.runtime.tick(self.prepare(image.metres), felt)
            action = self.runtime.act(history, command.astype(np.float32))
            if not np.isfinite(action).all():
                return Fault.BAD_ACTION
            clip, blend = self.spec.action.clip, self._share(now_s, self.cfg.blend_s)
            done = action.clip(-clip, clip) * (1.0 if self.mode is Mode.RUN else blend)
            self.runtime.record(done)
            self._observations.action = done
            desired = self._default + self.spec.action.scale_rad * done
        target = self.gate.target(desired)
        if target is None:
            return Fault.BAD_ACTION
        self._target = target
        return Fault.NONE

    # --- modes ----------------------------------------------------------------------------------
    def _enter(self, mode: Mode, now_s: float, reason: Fault = Fault.NONE) -> None:
        if mode is self.mode and not reason:
            return
        if mode in ACTIVE and self.mode not in ACTIVE:
            self._deadlines.reset()
            self._next_s = now_s
        if mode is Mode.STAND_UP and self._state is not None:
            self._from, _ = self.joints.joints(self._state)
            self.gate.begin(self._from)
        if mode is Mode.BLEND_IN:
            self._observations.reset()
            self.runtime.reset()
        self.mode, self.reason, self._since_s = mode, reason, now_s
        self._say(now_s, f"{mode}: {reason}" if reason else str(mode))

    def _damping(self) -> JointCommand:
        if self._state is None:
            unknown = np.full(self.gate.n, np.nan)
            return self.gate.damping(unknown, unknown)
        return self.gate.damping(*self.joints.joints(self._state))

    def _depth_fault(self, now_s: float) -> Fault:
        image = self._images.get(now_s)
        return depth_fault(None if image is None else image.time_s, now_s, self.spec.limits)

    def _share(self, now_s: float, whole_s: float) -> float:
        """How much of a mode's time has passed."""
        return 1.0 if whole_s <= 0 else min(1.0, (now_s - self._since_s) / whole_s)

    def _say(self, now_s: float, what: str) -> None:
        if what != self._said:  # an operator who insists is not told again
            self.events.append((now_s, what))
        self._said = what
