"""Puts before the obstacle what training has never had: grass, glass, loose stones, a carpet."""

import mujoco
import numpy as np

from swap.courses import Course
from swap.sim2sim.cfg import SimCfg

HIDDEN = 3
"""The geom group that the camera does not look at: of the robot itself, and of glass."""
NEAR_M, CLEAR_M = 0.9, 0.5
"""Clutter begins so far ahead of the start and ends so far before the obstacle."""
SIDE_M = 0.8
CARPET_KG = 12.0


def scatter(spec: mujoco.MjSpec, course: Course, cfg: SimCfg, draw: np.random.Generator) -> None:
    """What the configuration asks for, on the level ground of the run-up."""
    reach = max(NEAR_M + 0.2, min(course.goal_x, 3.0) - CLEAR_M)

    def place() -> tuple[float, float]:
        return float(draw.uniform(NEAR_M, reach)), float(draw.uniform(-SIDE_M, SIDE_M))

    for k in range(cfg.grass):
        (x, y), height = place(), float(draw.uniform(0.1, 0.35))
        blade = spec.worldbody.add_geom(name=f"grass{k}", type=mujoco.mjtGeom.mjGEOM_BOX)
        blade.pos, blade.size = (x, y, course.start_z + height / 2), (0.02, 0.04, height / 2)
        blade.contype = blade.conaffinity = 0
    for k in range(cfg.glass):
        (x, _), height = place(), float(draw.uniform(0.04, 0.1))
        sill = spec.worldbody.add_geom(name=f"glass{k}", type=mujoco.mjtGeom.mjGEOM_BOX)
        sill.pos, sill.size = (x, 0.0, course.start_z), (0.05, course.lane, height)
        sill.group = HIDDEN
        _solid(sill)
    for k in range(cfg.rubble):
        (x, y), half = place(), draw.uniform(0.03, 0.08, 3)
        stone = spec.worldbody.add_body(name=f"stone{k}", pos=(x, y, course.start_z + 0.1))
        stone.add_freejoint()
        geom = stone.add_geom(name=f"stone{k}", type=mujoco.mjtGeom.mjGEOM_BOX, size=half)
        geom.density = 2500.0
        _solid(geom)
        geom.conaffinity = 1  # stones lie on the ground, and on each other
    if cfg.carpet_n > 0:
        middle, half_length = (NEAR_M + reach) / 2, (reach - NEAR_M) / 2
        carpet = spec.worldbody.add_body(name="carpet", pos=(middle, 0.0, course.start_z + 0.01))
        for name, axis in (("carpet_x", (1, 0, 0)), ("carpet_y", (0, 1, 0))):
            slide = carpet.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
            slide.frictionloss = cfg.carpet_n
        size = (half_length, SIDE_M, 0.01)
        geom = carpet.add_geom(name="carpet", type=mujoco.mjtGeom.mjGEOM_BOX, size=size)
        geom.mass = CARPET_KG
        _solid(geom)


def _solid(geom: mujoco.MjsGeom) -> None:
    """As the boxes of a course are."""
    geom.contype, geom.conaffinity, geom.condim, geom.priority = 1, 0, 3, 1
    geom.solref = (0.02, 1.0)
