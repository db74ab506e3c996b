"""Computes how the body moves about its mean path over a cycle, from the times at which feet push.

A standing foot pushes up with half a sine, and over a cycle all feet together carry the weight. The
difference between push and weight moves the body up and down: with all feet in the air it falls
freely. Off-centre pushes rotate the body, as far as the gait allows; the rest is balanced by
horizontal forces at the feet, which sway the body over them (a linear inverted pendulum). All of
this follows from the touchdown times, integrated as a Fourier series.
"""

from dataclasses import dataclass

import numpy as np

from swap.motions.gaits import Gait
from swap.motions.timing import GaitTiming, scale_of
from swap.robots import Robot
from swap.sim import GRAVITY

HARMONICS = 8
SAMPLES = 512
STAND_BOB_M = 0.01

ROWS = ("ahead", "left", "up", "pitch", "roll")


@dataclass(frozen=True)
class Sway:
    """Harmonics 1.. of each of ROWS, m and rad: the real part of Σ c exp(2πi k f t)."""

    frequency_hz: float
    c: np.ndarray  # [5, K] complex

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """The ROWS [5, T] at times [T]; positive pitch is nose down, positive roll right side
        down."""
        turn = 1j * np.multiply.outer(self._rates, time_s)
        return (self.c @ np.exp(turn)).real

    @property
    def acceleration(self) -> "Sway":
        return Sway(self.frequency_hz, -self.c * self._rates**2)

    @property
    def _rates(self) -> np.ndarray:
        return 2 * np.pi * self.frequency_hz * np.arange(1, self.c.shape[1] + 1)


def sway_of(robot: Robot, gait: Gait, timing: GaitTiming) -> Sway:
    if gait.stands:
        # The body sways once fore and aft, once sideways and twice up and down per cycle.
        c = np.zeros((5, 2), complex)
        c[2, 1] = STAND_BOB_M * scale_of(robot)
        c[3, 0], c[4, 0] = gait.pitch_rad, -1j * gait.roll_rad
        return Sway(timing.frequency_hz, c)
    push = pushes(timing, np.arange(SAMPLES) / SAMPLES)  # [4, S] in weights
    x, y = (timing.foothold - timing.foothold.mean(0))[:, :2].T  # the weight is over their middle
    rows = np.stack([push.sum(0), x @ push, y @ push])
    up, ahead, left = 2 * np.fft.rfft(rows)[:, 1 : HARMONICS + 1] / SAMPLES
    squares = (2 * np.pi * timing.frequency_hz * np.arange(1, HARMONICS + 1)) ** 2
    around_x, around_y = inertia(robot)
    weight, fall = robot.mass * GRAVITY, robot.h_des / GRAVITY
    pitch, pitched = _bounded(ahead * weight / around_y / squares, gait.pitch_rad)
    roll, rolled = _bounded(-left * weight / around_x / squares, gait.roll_rad)
    swing_x = (1 - pitched) * ahead / (1 + squares * fall)
    swing_y = (1 - rolled) * left / (1 + squares * fall)
    c = np.stack([swing_x, swing_y, -GRAVITY * up / squares, pitch, roll])
    return Sway(timing.frequency_hz, c)


def pushes(timing: GaitTiming, cycle: np.ndarray) -> np.ndarray:
    """Upward force of each foot, in units of the robot's weight, at [S] in the cycle: [4, S]."""
    phase = (cycle - timing.touchdown[:, None]) % 1.0
    if timing.duty >= 1:
        return np.full(phase.shape, 1 / len(phase))
    arch = np.sin(np.pi * np.minimum(phase / timing.duty, 1.0))
    return arch * np.pi / 2 / timing.duty / len(phase)


def inertia(robot: Robot) -> tuple[float, float]:
    """Inertia about the base's x and y axes, with legs as points below their hips, kg m²."""
    around_x, around_y = robot.trunk.inertia[:2]
    for leg in robot.legs:
        mass = sum(link.mass for link in leg.links)
        x, y, z = leg.mount[0], leg.mount[1] + leg.offset, leg.mount[2] - leg.thigh / 2
        around_x += mass * (y * y + z * z)
        around_y += mass * (x * x + z * z)
    return around_x, around_y


def _bounded(c: np.ndarray, most: float) -> tuple[np.ndarray, float]:
    """The series scaled down so that it is nowhere larger than `most`, and the scale."""
    largest = np.abs(Sway(1.0, c[None])(np.linspace(0, 1, SAMPLES))).max()
    share = min(1.0, most / max(largest, 1e-9))
    return c * share, share
