"""Pushes the robot, and hits its legs, now and then."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from swap.sim2sim.body import SimulatedRobot

HIT_S = 0.05


class Disturbances:
    """Call `apply` at every physics step, always with the same body: it holds this, and two that
    hold each other would keep a simulator's memory until Python looks for such pairs."""

    def __init__(self, draw: np.random.Generator) -> None:
        self._draw = draw
        self._hit_until_s = 0.0
        self._leg: int | None = None

    def apply(self, body: "SimulatedRobot") -> None:
        cfg, data = body.cfg, body.data
        if cfg.push_every_s and self._draw.random() < cfg.timestep_s / cfg.push_every_s:
            data.qvel[:2] += self._draw.uniform(-cfg.push_mps, cfg.push_mps, 2)
        if self._leg is not None and data.time >= self._hit_until_s:
            data.xfrc_applied[self._leg] = 0
            self._leg = None
        if cfg.hit_every_s and self._draw.random() < cfg.timestep_s / cfg.hit_every_s:
            names = [f"{leg.name}_knee" for leg in body.robot.legs]
            self._leg = body.model.body(names[self._draw.integers(len(names))]).id
            data.xfrc_applied[:] = 0  # one leg at a time
            turn = self._draw.uniform(0, 2 * np.pi)
            data.xfrc_applied[self._leg, :2] = cfg.hit_n * np.cos(turn), cfg.hit_n * np.sin(turn)
            self._hit_until_s = data.time + HIT_S
