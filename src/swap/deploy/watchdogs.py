"""Finds reasons to stop: what is stale, not finite, tilted or late. Pure functions of times and
numbers, so that each can be tested by itself."""

from collections import deque
from enum import StrEnum

import numpy as np

from swap.deploy.messages import RobotState
from swap.deploy.spec import LimitSpec

LATE_STEPS, LATE_WITHIN_S = 5, 1.0
"""So many late decisions within that time are too many, even if none is too late by itself."""


class Fault(StrEnum):
    """Why a controller damps."""

    NONE = ""
    NO_STATE = "no state of the robot has come"
    STALE_STATE = "the robot's state is stale"
    BAD_STATE = "the robot's state is not finite or no rotation"
    NO_DEPTH = "no depth image has come"
    STALE_DEPTH = "the depth image is stale"
    TILT = "the robot has tipped over"
    LATE = "deadlines were missed"
    BAD_ACTION = "the policy's action is not finite"
    UNSAFE = "no safe command was found"
    STOP = "the operator's stop"


def state_fault(state: RobotState | None, now_s: float, limits: LimitSpec) -> Fault:
    """Of a state that is to be acted on now."""
    if state is None:
        return Fault.NO_STATE
    if not abs(now_s - state.time_s) <= limits.state_s:
        return Fault.STALE_STATE
    numbers = (state.quat, state.gyro, state.pos, state.vel)
    if not all(np.isfinite(x).all() for x in numbers):
        return Fault.BAD_STATE
    if not 0.5 < float(np.square(np.asarray(state.quat, float)).sum()) < 2:
        return Fault.BAD_STATE
    return Fault.NONE


def tilt_fault(gravity: np.ndarray, limits: LimitSpec) -> Fault:
    return Fault.TILT if not gravity[2] <= limits.tilt_z else Fault.NONE


def depth_fault(taken_s: float | None, now_s: float, limits: LimitSpec) -> Fault:
    """Of the image that the world model is to read."""
    if taken_s is None:
        return Fault.NO_DEPTH
    return Fault.NONE if -limits.state_s <= now_s - taken_s <= limits.depth_s else Fault.STALE_DEPTH


class Deadlines:
    """Decisions that come too late: one by more than the limit, or many by a little."""

    def __init__(self, period_s: float, limits: LimitSpec) -> None:
        self._period_s, self._gap_s = period_s, limits.gap_s
        self._last_s: float | None = None
        self._late: deque[float] = deque(maxlen=LATE_STEPS)

    def reset(self) -> None:
        self._last_s = None
        self._late.clear()

    def fault(self, now_s: float) -> Fault:
        """A decision is made now."""
        last, self._last_s = self._last_s, now_s
        if last is None:
            return Fault.NONE
        gap = now_s - last
        if not 0 <= gap <= self._gap_s:
            return Fault.LATE
        if gap > 1.5 * self._period_s:
            self._late.append(now_s)
            if len(self._late) == LATE_STEPS and now_s - self._late[0] <= LATE_WITHIN_S:
                return Fault.LATE
        return Fault.NONE
