"""Gives every world its own fields of mujoco-warp's model, and writes friction and bodies into
them."""

from typing import Any

import mujoco
import mujoco_warp as mjw
import torch
import warp as wp

from swap.courses.course import Boxes
from swap.device.warp_graph import WarpGraph
from swap.robots import Robot
from swap.sim.randomise import Draw, contact_friction, contact_solref

PER_WORLD = (
    "geom_pos",
    "geom_quat",
    "geom_size",
    "geom_rbound",
    "geom_aabb",
    "geom_friction",
    "geom_solref",
    "body_mass",
    "body_ipos",
    "body_inertia",
    "body_subtreemass",
    "body_invweight0",
    "dof_invweight0",
    "actuator_acc0",
)


class GpuModels:
    """The models of `n` worlds. Computing what MuJoCo derives from masses takes hundreds of
    launches on a GPU, so it has its own recording."""

    def __init__(
        self,
        robot: Robot,
        model: mujoco.MjModel,
        n: int,
        slots: int,
        device: torch.device,
        *,
        nconmax: int,
        njmax: int,
    ) -> None:
        """`device` must also be Warp's current device."""
        self._trunk_mass = robot.trunk.mass
        self._deriver, self._on_gpu = WarpGraph(device), device.type == "cuda"
        self.m: Any = mjw.put_model(model, batch_sizes=dict.fromkeys(PER_WORLD, n))
        self.m.opt.warn_overflow = 0
        self.d: Any = mjw.make_data(model, nworld=n, nconmax=nconmax, njmax=njmax)
        self._mass = {k: wp.to_torch(getattr(self.m, k)) for k in ("body_mass", "body_inertia")}
        self._ipos = wp.to_torch(self.m.body_ipos)
        self._mass0 = {name: field[0].clone() for name, field in self._mass.items()}
        self._ipos0 = self._ipos[0].clone()
        self._friction = wp.to_torch(self.m.geom_friction)[:, :slots, 0]
        self._solref = wp.to_torch(self.m.geom_solref)[:, :slots]

    def record(self) -> None:
        if self._on_gpu:  # elsewhere launches cost almost nothing
            self._deriver.record(self._derive)

    @property
    def recorded(self) -> bool:
        return self._deriver.recorded

    def write_grip(self, drawn: Draw, boxes: Boxes) -> None:
        mu = contact_friction(drawn.friction, boxes.friction)
        self._friction.copy_(mu[:, None].expand_as(self._friction))

    def write_restitution(self, drawn: Draw) -> None:
        solref = contact_solref(drawn.restitution)
        self._solref.copy_(solref[:, None].expand_as(self._solref))

    def write_bodies(self, drawn: Draw) -> None:
        """Write masses and centres of mass, and update all that follows from them."""
        payload = 1 + drawn.payload[:, None] / self._trunk_mass
        factor = torch.cat([payload, drawn.link_mass], 1)
        for name, field in self._mass.items():
            nominal = self._mass0[name][1:]
            field[:, 1:] = nominal * factor.view(*factor.shape, *[1] * (nominal.ndim - 1))
        self._ipos[:, 1] = self._ipos0[1] + drawn.com
        if self._deriver.recorded:
            self._deriver.play()
        else:
            with self._deriver.scope():
                self._derive()

    def _derive(self) -> None:
        """Update what MuJoCo derives. It changes positions, but the next step recomputes them."""
        groups = mjw.SetConstGroup.FIXED | mjw.SetConstGroup.INERT0
        mjw.set_const(self.m, self.d, groups=groups, restore=False)
