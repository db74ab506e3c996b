"""Builds what the networks read, proprioception and history, from a robot's states."""

import math

import numpy as np

from swap.deploy.messages import Operator
from swap.deploy.spec import BundleSpec


def gravity_of(quat: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of any length -> the direction of gravity in the body frame [3]."""
    w, x, y, z = np.asarray(quat, float)
    s = 2 / (w * w + x * x + y * y + z * z)
    return np.array([-s * (x * z - w * y), -s * (y * z + w * x), s * (x * x + y * y) - 1])


def heading_of(quat: np.ndarray) -> float:
    """The turn about the vertical, rad, however steeply the robot pitches."""
    return wrap(2 * math.atan2(float(quat[3]), float(quat[0])))


def wrap(angle_rad: float) -> float:
    return math.atan2(math.sin(angle_rad), math.cos(angle_rad))


class ObservationBuilder:
    """`observe` once a control step; `reset` when the policy takes over."""

    def __init__(self, spec: BundleSpec) -> None:
        o = self._spec = spec.observation
        self._scale = {term.name: term.scale for term in o.terms}
        self._default = np.array([joint.default_rad for joint in spec.joints])
        self._command = spec.command
        self._past = np.zeros((o.history_steps, spec.width(o.history)), np.float32)
        self._fresh = True
        self.action = np.zeros(len(spec.joints))
        """The last one that was carried out."""

    def reset(self) -> None:
        """No past, and no action before."""
        self._fresh = True
        self.action = np.zeros_like(self.action)

    def command(self, operator: Operator, quat: np.ndarray) -> np.ndarray:
        """Forward, left, yaw as the policy reads it, within what training had. A number that is
        not finite counts as 0: a robot that is told nonsense stands."""
        c, yaw = self._command, operator.yaw_rps
        if operator.heading_rad is not None:
            known = math.isfinite(operator.heading_rad)
            yaw = c.yaw_gain * wrap(operator.heading_rad - heading_of(quat)) if known else 0.0
        desired = np.array([operator.forward_mps, operator.left_mps, yaw])
        low = np.array([c.forward_mps[0], c.left_mps[0], -c.yaw_rps])
        high = np.array([c.forward_mps[1], c.left_mps[1], c.yaw_rps])
        return np.where(np.isfinite(desired), desired, 0.0).clip(low, high)

    def observe(
        self,
        gyro: np.ndarray,
        gravity: np.ndarray,
        pos: np.ndarray,
        vel: np.ndarray,
        command: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """-> proprioception and history, float32."""
        now = {
            "ang_vel": gyro,
            "gravity": gravity,
            "command": command,
            "joint_pos": pos - self._default,
            "joint_vel": vel,
            "action": self.action,
        }
        scaled = {name: now[name] * scale for name, scale in self._scale.items()}
        step = np.concatenate([scaled[x] for x in self._spec.history]).astype(np.float32)
        if self._fresh:
            self._past[:], self._fresh = step, False
        else:
            self._past[1:] = self._past[:-1].copy()
            self._past[0] = step
        felt = np.concatenate([scaled[x] for x in self._spec.proprioception])
        return felt.astype(np.float32), self._past.reshape(-1).copy()
