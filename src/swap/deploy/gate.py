"""The last check before the motors: no command beyond a limit leaves.

For every joint a command makes the torque kp (target - q) - kd q̇ + feed-forward. The gate keeps

- targets within the joint's range and a little beyond, and within a step's reach of the last one;
- gains between zero and the bundle's;
- that torque within the motor's torque-speed curve, or a share beyond it, and the power of all
  motors within their limit. What is too much is taken back by the feed-forward, which leaves the
  target alone.

What it cannot make safe it answers with damping: all numbers that are not finite are such.
"""

from typing import NamedTuple

import numpy as np

from swap.deploy.spec import BundleSpec

DAMPING = 1.0
"""Of a damped joint, over the bundle's kd."""
ROUNDING = 1e-5
"""Share by which limits are kept more strictly: a message rounds to float32."""
FEED_LIMIT = 100.0
"""What has to be taken back, over the strongest motor's torque. More is no state of a robot, and
float32 would round it to beyond a limit."""


class JointCommand(NamedTuple):
    """In the bundle's order and sense, [joints] each."""

    pos: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    torque: np.ndarray


class SafetyGate:
    """Keeps the last target from one command to the next."""

    def __init__(self, spec: BundleSpec) -> None:
        def each(name: str) -> np.ndarray:
            return np.array([getattr(joint, name) for joint in spec.joints], float)

        limits, self.n = spec.limits, len(spec.joints)
        self.kp, self.kd = each("kp"), each("kd")
        beyond = limits.beyond_range_rad
        self.low = each("low_rad") - beyond + ROUNDING
        self.high = each("high_rad") + beyond - ROUNDING
        self.step_rad = limits.swing * each("torque_nm") / self.kp * (1 - ROUNDING)
        """The largest change of a target from one decision to the next."""
        self.peak = limits.torque_share * each("torque_nm")
        self.no_load = limits.torque_share * each("speed_rps")
        self.power_w = limits.power_w * (1 - ROUNDING)
        self._zero = np.zeros(self.n)
        self._last: np.ndarray | None = None

    def begin(self, pos: np.ndarray) -> None:
        """The next target is to be near this pose [joints]."""
        self._last = np.clip(np.nan_to_num(pos), self.low, self.high)

    def target(self, desired: np.ndarray) -> np.ndarray | None:
        """A new decision -> the target [joints] that may be commanded; None if it is not finite."""
        if not np.isfinite(desired).all():
            return None
        allowed = desired.clip(self.low, self.high)
        if self._last is not None:
            allowed = allowed.clip(self._last - self.step_rad, self._last + self.step_rad)
        self._last = allowed
        return allowed

    def command(
        self, target: np.ndarray, pos: np.ndarray, vel: np.ndarray, stiffness: float = 1.0
    ) -> JointCommand | None:
        """Towards an allowed target from where the joints are; `stiffness` 0 to 1 scales kp. None
        if anything is not finite."""
        kp = self.kp * min(1.0, max(0.0, stiffness))
        return self._within(target, kp, self.kd, pos, vel)

    def damping(self, pos: np.ndarray, vel: np.ndarray) -> JointCommand:
        """No stiffness: joints only resist. One whose state is not known is damped by its motor,
        which knows it; one whose speed no joint can have is let go."""
        kd, known = DAMPING * self.kd, np.isfinite(pos) & np.isfinite(vel)
        desired = -kd * np.where(known, vel, 0)
        most = self.peak * (1 - ROUNDING) - ROUNDING * np.abs(desired)
        possible = most > 0
        torque = desired.clip(-most.clip(0), most.clip(0))
        spare = np.where(known & possible, torque - desired, 0)
        held = np.where(np.isfinite(pos), pos, 0).clip(self.low, self.high)
        return JointCommand(held, self._zero, np.where(possible, kd, 0), spare)

    def passive(self) -> JointCommand:
        """Nothing at all."""
        return JointCommand(self._zero, self._zero, self._zero, self._zero)

    def _within(
        self,
        target: np.ndarray,
        kp: np.ndarray,
        kd: np.ndarray,
        pos: np.ndarray,
        vel: np.ndarray,
    ) -> JointCommand | None:
        target = target.clip(self.low, self.high)
        with np.errstate(over="ignore", invalid="ignore"):
            desired = kp * (target - pos) - kd * vel
            share = vel / self.no_load
            if not np.isfinite(desired.sum() + share.sum()):
                return None
            slack = ROUNDING * (self.peak + np.abs(desired))
            upper = self.peak * (1 - share).clip(0, 1) - slack
            lower = slack - self.peak * (1 + share).clip(0, 1)
            torque = np.minimum(np.maximum(desired, lower), upper)
            power = torque * vel
            driven = float(power.clip(0).sum())
        if driven > self.power_w:
            torque = np.where(power > 0, torque * (self.power_w / driven), torque)
        spare = torque - desired
        if np.abs(spare).max() > FEED_LIMIT * self.peak.max():
            return None
        return JointCommand(target, kp, kd, spare)
