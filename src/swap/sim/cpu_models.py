"""Gives every world its own fields of MuJoCo's model, and writes geometry, friction and bodies into
them.

Boxes, masses and contact parameters are model fields that each world has of its own; all worlds
share one compiled model. When they are written, what MuJoCo derives from them (bounds, bounding
volumes, inverse weights) is out of date; `set_const` updates it, after which a world equals one
compiled from scratch.
"""

import mujoco
import numpy as np
from mujoco.batch import Batch

from swap.courses.course import Boxes
from swap.robots import Robot
from swap.robots.friction_cone import FrictionCone
from swap.robots.mjcf import build_spec
from swap.sim.randomise import Draw, contact_friction, contact_solref

PER_WORLD = (
    "geom_pos",
    "geom_quat",
    "geom_size",
    "geom_sameframe",
    "geom_friction",
    "geom_solref",
    "body_mass",
    "body_ipos",
    "body_inertia",
    "bvh_aabb",
)


class CpuModels:
    """The models of `n` worlds. `rows` are the worlds that are written."""

    def __init__(
        self,
        robot: Robot,
        n: int,
        slots: int,
        threads: int,
        memory: int | None,
        cone: FrictionCone,
    ) -> None:
        self._model, self._slots = _template(robot, slots, memory, cone), slots
        self.batch = Batch(self._model, n, threads)
        self._field = {name: self.batch.expand(name) for name in PER_WORLD}
        # Boxes may have any rotation. MuJoCo would skip it for those compiled without one.
        self._field["geom_sameframe"][:, :slots] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE.value
        self._flags = self.batch.expand("opt.disableflags")

    def step(self, *, sense: bool) -> None:
        """Take one physics step; only with `sense` are contact forces measured."""
        no_sensors = mujoco.mjtDisableBit.mjDSBL_SENSOR.value
        self._flags[:] = self._model.opt.disableflags | (0 if sense else no_sensors)
        self.batch.step()

    def place_boxes(self, rows: np.ndarray, boxes: Boxes) -> None:
        slots, quat = self._slots, boxes.quat.numpy()[rows].astype(float)
        self._field["geom_pos"][rows, :slots] = boxes.pos.numpy()[rows]
        self._field["geom_quat"][rows, :slots] = quat / np.linalg.norm(quat, axis=-1)[..., None]
        self._field["geom_size"][rows, :slots] = boxes.half.numpy()[rows]

    def write_grip(self, rows: np.ndarray, drawn: Draw, boxes: Boxes) -> None:
        mu = contact_friction(drawn.friction, boxes.friction)
        self._field["geom_friction"][rows, : self._slots, 0] = mu.numpy()[rows, None]

    def write_restitution(self, rows: np.ndarray, drawn: Draw) -> None:
        solref = contact_solref(drawn.restitution)
        self._field["geom_solref"][rows, : self._slots] = solref.numpy()[rows, None]

    def write_bodies(self, rows: np.ndarray, drawn: Draw) -> None:
        """Write masses and centres of mass, and update all that follows from them."""
        model = self._model
        payload = 1 + drawn.payload.double().numpy()[:, None] / model.body_mass[1]
        factor = np.concatenate([payload, drawn.link_mass.double().numpy()], 1)[rows]
        self._field["body_mass"][rows, 1:] = model.body_mass[1:] * factor
        self._field["body_inertia"][rows, 1:] = model.body_inertia[1:] * factor[..., None]
        self._field["body_ipos"][rows, 1] = model.body_ipos[1] + drawn.com.numpy()[rows]
        self.update_derived(rows)

    def update_derived(self, rows: np.ndarray) -> None:
        """Update what MuJoCo derives from boxes and bodies, after they have changed."""
        if len(rows):
            self.batch.set_const(rows.astype(np.int32))


def _template(robot: Robot, slots: int, memory: int | None, cone: FrictionCone) -> mujoco.MjModel:
    """Compile the shared model. Its boxes stand in a row along x, in the order of courses, so that
    the bounding volume tree, which all worlds share, groups neighbours."""
    row = np.zeros((slots, 3))
    row[:, 0] = np.arange(slots)
    spec = build_spec(robot, slots, pos=row, force_sensors=True, cone=cone)
    # The engine resets and counts worlds that diverge; MuJoCo would reset them silently. And one
    # robot is one island of constraints: looking for islands takes time and finds just that.
    flags = mujoco.mjtDisableBit
    spec.option.disableflags |= flags.mjDSBL_AUTORESET | flags.mjDSBL_ISLAND
    if memory is not None:
        spec.memory = memory
    return spec.compile()
