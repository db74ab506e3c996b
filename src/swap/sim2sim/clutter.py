"""Puts before the obstacle what training has never had: grass, glass, loose stones, a carpet."""

import mujoco
import numpy as np

from swap.courses import Course
from swap.courses.clutter import NEAR_M, SIDE_M, glass, grass, place, reach
from swap.sim2sim.cfg import SimCfg

HIDDEN = 3
"""The geom group that the camera does not look at: of the robot itself, and of glass."""
CARPET_KG = 12.0


def scatter(spec: mujoco.MjSpec, course: Course, cfg: SimCfg, draw: np.random.Generator) -> None:
    """What the configuration asks for, on the level ground of the run-up."""
    for k, block in enumerate(grass(course, cfg.grass, draw)):
        blade = spec.worldbody.add_geom(name=f"grass{k}", type=mujoco.mjtGeom.mjGEOM_BOX)
        blade.pos, blade.size = block.pos, block.half
        blade.contype = blade.conaffinity = 0
    for k, block in enumerate(glass(course, cfg.glass, draw)):
        sill = spec.worldbody.add_geom(name=f"glass{k}", type=mujoco.mjtGeom.mjGEOM_BOX)
        sill.pos, sill.size = block.pos, block.half
        sill.group = HIDDEN
        _solid(sill)
    for k in range(cfg.rubble):
        (x, y), half = place(course, draw), draw.uniform(0.03, 0.08, 3)
        stone = spec.worldbody.add_body(name=f"stone{k}", pos=(x, y, course.start_z + 0.1))
        stone.add_freejoint()
        geom = stone.add_geom(name=f"stone{k}", type=mujoco.mjtGeom.mjGEOM_BOX, size=half)
        geom.density = 2500.0
        _solid(geom)
        geom.conaffinity = 1  # stones lie on the ground, and on each other
    if cfg.carpet_n > 0:
        end = reach(course)
        middle, half_length = (NEAR_M + end) / 2, (end - NEAR_M) / 2
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
