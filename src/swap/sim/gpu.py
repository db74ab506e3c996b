"""The GPU engine: mujoco-warp in float32, with each control step recorded as one CUDA graph.

Every array is made once and written in place, because a recorded graph keeps pointers; `state` is
mostly views of MuJoCo's own arrays. The same code also runs on Warp's CPU device.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco_warp as mjw
import torch
import warp as wp
from torch import Tensor

from swap.courses.course import SLOTS, Boxes, Course, stack
from swap.device.warp_graph import WarpGraph
from swap.errors import UserError
from swap.robots import Robot
from swap.robots.friction_cone import FrictionCone
from swap.robots.kinematics import axis_signs
from swap.robots.mjcf import build_spec, force_groups, group_of_geom
from swap.sim import kernels
from swap.sim.engine import (
    CONTACT_ROWS,
    CONTACTS,
    SPEED_LIMIT,
    FaultReport,
    Start,
    State,
    check_mask,
    check_setup,
    check_tensor,
    engine_device,
    restore_engine,
    standing,
)
from swap.sim.gpu_models import GpuModels
from swap.sim.randomise import BODY_PARTS, Draw, nominal
from swap.sim.rate import SUBSTEPS
from swap.state_dict import join_states

ROW_BITS = mjw.OverflowType.NEFC | mjw.OverflowType.NJMAX_NNZ
POOL_BITS = mjw.OverflowType.BROADPHASE | mjw.OverflowType.NARROWPHASE
BOX_PARTS = ("pos", "quat", "half", "friction", "count")


class GpuEngine:
    """See `swap.sim.engine.Engine`."""

    def __init__(
        self,
        robot: Robot,
        bank: Sequence[Course],
        n: int,
        slots: int = SLOTS,
        device: str = "cuda",
        nconmax: int = CONTACTS,
        njmax: int = CONTACT_ROWS,
        capture: bool = True,
        cone: FrictionCone = "pyramidal",
    ) -> None:
        """`nconmax` is the number of contacts and candidates per world, in a pool that all share;
        `njmax` that of constraint rows per world. `capture=False` launches each kernel separately,
        for debugging."""
        check_setup(bank, n)
        self.robot, self.n, self.device = robot, n, engine_device("gpu", device)
        self._recorder = WarpGraph(self.device)
        with self._recorder.scope():
            self._build(bank, slots, nconmax, njmax, cone)
            self._wire()
        if capture:
            self.state.base_quat[:, 0] = 1  # a zero quaternion is no rotation
            self._recorder.record(self._control_step)
            self._models.record()
        everyone = torch.ones(n, dtype=torch.bool, device=self.device)
        self.assign(everyone, torch.zeros(n, dtype=torch.long, device=self.device))
        self.randomise(everyone, self.drawn)
        self.reset(everyone)
        self.report()

    def _build(
        self, bank: Sequence[Course], slots: int, nconmax: int, njmax: int, cone: FrictionCone
    ) -> None:
        robot, n, device = self.robot, self.n, self.device
        model = build_spec(robot, slots, cone=cone).compile()
        self._models = GpuModels(robot, model, n, slots, device, nconmax=nconmax, njmax=njmax)
        self._m, self._d = self._models.m, self._models.d
        d = self._d
        self._bank = stack(bank, slots, str(device))
        self.boxes = stack([bank[0]] * n, slots, str(device))
        self._ground = self._floats([course.start_z for course in bank])
        self.course_id = torch.zeros(n, dtype=torch.int32, device=device)
        self.drawn = nominal(robot, n, device)
        joints = (n, len(robot.joints))
        self._kp, self._kd = self._zeros(*joints), self._zeros(*joints)
        self._target, self._last = self._zeros(*joints), self._zeros(*joints)
        self._safe_qpos, self._safe_qvel = self._zeros(n, model.nq), self._zeros(n, model.nv)
        self._pose = self._floats(robot.default_pose)
        self._peak = self._floats([joint.motor.torque for joint in robot.joints])
        self._no_load = self._floats([joint.motor.speed for joint in robot.joints])
        legs = robot.legs
        self._mount = self._floats([leg.mount for leg in legs])
        self._sizes = self._floats([(leg.offset, leg.thigh, leg.shank) for leg in legs])
        self._axis = self._floats(axis_signs(robot).tolist())
        self._group = torch.from_numpy(group_of_geom(robot, model)).to(device)
        self._contact_id = wp.from_torch(torch.arange(d.naconmax, dtype=torch.int32, device=device))
        self._contact_force = wp.zeros(d.naconmax, dtype=wp.spatial_vector)
        self._counts = torch.zeros(2, n, dtype=torch.int32, device=device)
        self._pool = torch.zeros(1, dtype=torch.int32, device=device)
        qpos, qvel = wp.to_torch(d.qpos), wp.to_torch(d.qvel)
        self.state = State(
            base_pos=qpos[:, :3],
            base_quat=qpos[:, 3:7],
            base_lin_vel=qvel[:, :3],
            base_ang_vel=qvel[:, 3:6],
            joint_pos=qpos[:, 7:],
            joint_vel=qvel[:, 6:],
            torque=wp.to_torch(d.ctrl),
            leg_pos=self._zeros(n, 4, 3, 3),
            force=self._zeros(n, len(force_groups(robot)), 3),
            time=wp.to_torch(d.time),
            failed=torch.zeros(n, dtype=torch.bool, device=device),
        )
        safe = standing(robot, self._zeros(n))
        torch.cat([safe.base_pos, safe.base_quat, safe.joint_pos], 1, out=self._safe_qpos)

    def _wire(self) -> None:
        """Make the kernels' arguments once; torch's tensors and MuJoCo's arrays share memory."""
        m, d, warp = self._m, self._d, wp.from_torch
        last, target, failed = map(warp, (self._last, self._target, self.state.failed))
        nonfinite, overflow, pool = map(warp, (*self._counts, self._pool))
        self._force = warp(self.state.force, wp.vec3)
        pose, held = warp(self._pose), [d.qpos, d.qvel, d.ctrl, d.qacc_warmstart]
        held += [last, self._force, d.time]
        self._held = [pose, *held]
        courses = [*_warp_boxes(self._bank), warp(self.course_id), *_warp_boxes(self.boxes)]
        geoms = [m.geom_pos, m.geom_quat, m.geom_size, m.geom_rbound, m.geom_aabb]
        placed = [d.geom_xpos, d.geom_xmat, d.qacc_warmstart]
        self._assign_args = [*courses, *geoms, *placed]
        safe = [warp(self._safe_qpos), warp(self._safe_qvel)]
        self._contain_args = [SPEED_LIMIT, *safe, pose, target, *held, failed, nonfinite]
        gains = map(warp, (self._kp, self._kd, self.drawn.strength, self._peak, self._no_load))
        latency = warp(self.drawn.latency)
        self._drive_args = [target, last, latency, d.qpos, d.qvel, *gains, d.ctrl]
        contacts = [d.nacon, d.contact.geom, d.contact.worldid, self._contact_force]
        self._force_args = [*contacts, warp(self._group), self._force]
        bits = (int(ROW_BITS), int(POOL_BITS))
        self._finish_args = [*bits, target, d.overflow, last, failed, overflow, pool]
        facts = (warp(x, wp.vec3) for x in (self._mount, self._sizes, self._axis))
        self._leg_args = [*facts, d.qpos, warp(self.state.leg_pos, wp.vec3)]

    @property
    def mujoco(self) -> tuple[Any, Any]:
        """mujoco-warp's Model and Data, to pass to its functions; read them, never write them."""
        return self._m, self._d

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(*shape, device=self.device)

    def _floats(self, values: Sequence[object]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    # --- courses --------------------------------------------------------------------------------
    def assign(self, mask: Tensor, course_id: Tensor) -> None:
        check_mask(mask, self.n, self.device)
        check_tensor("course_id", course_id, (self.n,), self.device)
        chosen = [wp.from_torch(mask.contiguous()), wp.from_torch(course_id.int().contiguous())]
        with self._recorder.scope():
            dim = (self.n, self.boxes.slots)
            wp.launch(kernels.assign_boxes, dim=dim, inputs=chosen + self._assign_args)
        self._models.write_grip(self.drawn, self.boxes)
        ground = self._ground.index_select(0, self.course_id)
        torch.add(ground, self.robot.stance, out=self._safe_qpos[:, 2])

    def replace(self, ids: Sequence[int], courses: Sequence[Course]) -> None:
        if any(not 0 <= k < self._bank.n for k in ids) or len(ids) != len(courses):
            raise UserError(f"give one course for each id in 0..{self._bank.n - 1}")
        new = stack(courses, self._bank.slots, str(self.device))
        index = torch.tensor(list(ids), dtype=torch.long, device=self.device)
        for name in BOX_PARTS:
            getattr(self._bank, name)[index] = getattr(new, name)
        self._ground[index] = self._floats([course.start_z for course in courses])

    # --- state ----------------------------------------------------------------------------------
    def reset(self, mask: Tensor, start: Start | None = None) -> None:
        check_mask(mask, self.n, self.device)
        qpos, qvel = self._safe_qpos, self._safe_qvel
        if start is not None:
            qpos = torch.cat([start.base_pos, start.base_quat, start.joint_pos], 1)
            qvel = torch.cat([start.base_lin_vel, start.base_ang_vel, start.joint_vel], 1)
            check_tensor("start position", qpos, tuple(self._safe_qpos.shape), self.device)
            check_tensor("start velocity", qvel, tuple(self._safe_qvel.shape), self.device)
        given = [wp.from_torch(x.contiguous()) for x in (mask, qpos.float(), qvel.float())]
        failed = wp.from_torch(self.state.failed)
        with self._recorder.scope():
            wp.launch(kernels.reset_worlds, dim=self.n, inputs=[*given, *self._held, failed])
            wp.launch(kernels.pose_legs, dim=(self.n, 4), inputs=self._leg_args)

    def push(self, mask: Tensor, lin_vel: Tensor, ang_vel: Tensor) -> None:
        check_mask(mask, self.n, self.device)
        for what, kick, mine in (
            ("lin_vel", lin_vel, self.state.base_lin_vel),
            ("ang_vel", ang_vel, self.state.base_ang_vel),
        ):
            check_tensor(what, kick, (self.n, 3), self.device)
            mine.copy_(torch.where(mask[:, None], mine + kick, mine))

    def randomise(self, mask: Tensor, given: Draw, bodies: bool = True) -> None:
        check_mask(mask, self.n, self.device)
        self._take(mask, given, [x for x in vars(given) if bodies or x not in BODY_PARTS])
        torch.mul(self.drawn.kp, self.robot.kp, out=self._kp)
        torch.mul(self.drawn.kd, self.robot.kd, out=self._kd)
        self._models.write_grip(self.drawn, self.boxes)
        self._models.write_restitution(self.drawn)
        if bodies:
            self._models.write_bodies(self.drawn)

    def randomise_bodies(self, mask: Tensor, given: Draw) -> None:
        check_mask(mask, self.n, self.device)
        self._take(mask, given, BODY_PARTS)
        self._models.write_bodies(self.drawn)

    def _take(self, mask: Tensor, given: Draw, parts: Sequence[str]) -> None:
        for name in parts:
            mine, theirs = getattr(self.drawn, name), getattr(given, name)
            check_tensor(name, theirs, tuple(mine.shape), self.device)
            rows = mask.view(-1, *[1] * (mine.ndim - 1))
            torch.where(rows, theirs.to(mine.dtype), mine, out=mine)

    # --- time -----------------------------------------------------------------------------------
    def step(self, targets: Tensor) -> None:
        check_tensor("targets", targets, tuple(self._target.shape), self.device)
        self._target.copy_(targets.detach())
        if self._recorder.recorded:
            self._recorder.play()
        else:
            with self._recorder.scope():
                self._control_step()

    def _control_step(self) -> None:
        d, n = self._d, self.n
        for substep in range(SUBSTEPS):
            wp.launch(kernels.contain, dim=n, inputs=self._contain_args)
            dim = (n, self._target.shape[1])
            wp.launch(kernels.drive, dim=dim, inputs=[substep, *self._drive_args])
            mjw.step(self._m, d)
        self._force.zero_()
        mjw.contact_force(self._m, d, self._contact_id, True, self._contact_force)
        wp.launch(kernels.gather_forces, dim=d.naconmax, inputs=self._force_args)
        wp.launch(kernels.contain, dim=n, inputs=self._contain_args)
        wp.launch(kernels.finish, dim=n, inputs=self._finish_args)
        wp.launch(kernels.pose_legs, dim=(n, 4), inputs=self._leg_args)

    def report(self) -> FaultReport:
        nonfinite, overflow = self._counts.cpu()
        worlds = (nonfinite + overflow).nonzero()[:, 0]
        report = FaultReport(
            int(nonfinite.sum()), int(overflow.sum()), int(self._pool), tuple(worlds.tolist())
        )
        self._counts.zero_()
        self._pool.zero_()
        return report

    def faults(self) -> Tensor:
        counts = torch.cat([self._counts.sum(1), self._pool])
        self._counts.zero_()
        self._pool.zero_()
        return counts

    # --- saving and restoring -------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """What to save. Model fields follow from courses and draws."""
        d, state = self._d, self.state
        physics = {"qpos": d.qpos, "qvel": d.qvel, "qacc_warmstart": d.qacc_warmstart}
        return {
            **{name: wp.to_torch(x) for name, x in physics.items()},
            **join_states(drawn=vars(self.drawn)),
            **{name: getattr(state, name) for name in ("torque", "time", "force", "failed")},
            "last": self._last,
            "course_id": self.course_id,
            "counts": self._counts,
            "pool": self._pool,
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        restore_engine(self, state)
        with self._recorder.scope():
            wp.launch(kernels.pose_legs, dim=(self.n, 4), inputs=self._leg_args)


def _warp_boxes(boxes: Boxes) -> list[Any]:
    """The parts of Boxes in order, as Warp arrays."""
    rows = {"pos": wp.vec3, "quat": wp.quat, "half": wp.vec3}
    return [wp.from_torch(getattr(boxes, name), rows.get(name)) for name in BOX_PARTS]
