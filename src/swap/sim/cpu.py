"""The CPU engine: MuJoCo C in float64 on several threads, with its own model fields for each
world."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
import torch
from mujoco.batch import SimulationError
from torch import Tensor

from swap.courses.course import SLOTS, Course, stack
from swap.errors import UserError
from swap.robots import Robot
from swap.robots.friction_cone import FrictionCone
from swap.robots.kinematics import LegPoints
from swap.robots.mjcf import force_groups
from swap.sim.cpu_models import CpuModels
from swap.sim.engine import (
    SPEED_LIMIT,
    FaultReport,
    Start,
    State,
    check_mask,
    check_setup,
    check_tensor,
    restore_engine,
    standing,
)
from swap.sim.motor import motor_torque
from swap.sim.randomise import BODY_PARTS, Draw, nominal
from swap.sim.rate import SUBSTEPS
from swap.state_dict import join_states

FULL = [mujoco.mjtWarning.mjWARN_CONTACTFULL.value, mujoco.mjtWarning.mjWARN_CNSTRFULL.value]
PHYSICS = ("qpos", "qvel", "qacc_warmstart", "ctrl", "time")
"""The fields, of those used here, that the next MuJoCo step depends on."""


class CpuEngine:
    """See `swap.sim.engine.Engine`."""

    def __init__(
        self,
        robot: Robot,
        bank: Sequence[Course],
        n: int,
        slots: int = SLOTS,
        threads: int = 0,
        memory: int | None = None,
        cone: FrictionCone = "pyramidal",
    ) -> None:
        """`threads` 0 means as many as torch has, which leaves cores to other programs (see
        `swap.openmp`); `memory` is what a world may use for contacts, in bytes (default:
        MuJoCo's)."""
        check_setup(bank, n)
        self.robot, self.n, self.device = robot, n, torch.device("cpu")
        self._courses = list(bank)
        self._bank = stack(self._courses, slots)
        self._ground = torch.tensor([course.start_z for course in bank], dtype=torch.float32)
        self._models = CpuModels(robot, n, slots, threads or torch.get_num_threads(), memory, cone)
        self._batch = self._models.batch
        self._physics = {name: self._batch.bind(name) for name in PHYSICS}
        self._qpos, self._qvel, self._warm_start, self._ctrl, self._time = self._physics.values()
        self._sensors, self._warned = self._batch.bind("sensordata"), self._batch.warning
        self._points = LegPoints(robot)
        self._peak = np.array([joint.motor.torque for joint in robot.joints])
        self._no_load = np.array([joint.motor.speed for joint in robot.joints])
        self._pose = np.array(robot.default_pose, np.float32).astype(float)  # float32, as targets
        self._last = np.tile(self._pose, (n, 1))  # targets of the step before
        self._seen = self._full()
        self._nonfinite, self._overflow = np.zeros(n, int), np.zeros(n, int)
        self.course_id = torch.zeros(n, dtype=torch.int32)
        self.boxes = stack([self._courses[0]] * n, slots)
        self.drawn = nominal(robot, n)
        self.state = _blank_state(n, len(force_groups(robot)))
        everyone = torch.ones(n, dtype=torch.bool)
        self.assign(everyone, torch.zeros(n, dtype=torch.long))
        self.randomise(everyone, self.drawn)
        self.reset(everyone)

    # --- courses --------------------------------------------------------------------------------
    def assign(self, mask: Tensor, course_id: Tensor) -> None:
        check_mask(mask, self.n, self.device)
        check_tensor("course_id", course_id, (self.n,), self.device)
        rows = np.flatnonzero(mask.numpy())
        ids = course_id.numpy()[rows]
        if len(ids) and not 0 <= ids.min() <= ids.max() < self._bank.n:
            raise UserError(f"course_id outside the bank; use 0..{self._bank.n - 1}")
        self.course_id.numpy()[rows] = ids
        for name in ("pos", "quat", "half", "friction", "count"):
            getattr(self.boxes, name).numpy()[rows] = getattr(self._bank, name).numpy()[ids]
        self._models.place_boxes(rows, self.boxes)
        self._warm_start[rows] = 0
        self._models.write_grip(rows, self.drawn, self.boxes)
        self._models.update_derived(rows)

    def replace(self, ids: Sequence[int], courses: Sequence[Course]) -> None:
        if any(not 0 <= k < self._bank.n for k in ids) or len(ids) != len(courses):
            raise UserError(f"give one course for each id in 0..{self._bank.n - 1}")
        new, index = stack(courses, self._bank.slots), torch.tensor(list(ids), dtype=torch.long)
        for name in ("pos", "quat", "half", "friction", "count"):
            getattr(self._bank, name)[index] = getattr(new, name)
        self._ground[index] = torch.tensor([c.start_z for c in courses], dtype=torch.float32)

    # --- state ----------------------------------------------------------------------------------
    def reset(self, mask: Tensor, start: Start | None = None) -> None:
        check_mask(mask, self.n, self.device)
        start = start or standing(self.robot, self._ground[self.course_id.long()])
        rows = np.flatnonzero(mask.numpy())
        self._place(rows, start)
        self.state.failed.numpy()[rows] = False
        self._publish(rows)

    def _place(self, rows: np.ndarray, start: Start) -> None:
        qpos = torch.cat([start.base_pos, start.base_quat, start.joint_pos], 1)
        qvel = torch.cat([start.base_lin_vel, start.base_ang_vel, start.joint_vel], 1)
        check_tensor("start position", qpos, (self.n, self._qpos.shape[1]), self.device)
        check_tensor("start velocity", qvel, (self.n, self._qvel.shape[1]), self.device)
        self._qpos[rows] = qpos.numpy()[rows]
        self._qvel[rows] = qvel.numpy()[rows]
        for x in (self._ctrl, self._warm_start, self._time, self.state.force.numpy()):
            x[rows] = 0
        self._last[rows] = self._pose

    def push(self, mask: Tensor, lin_vel: Tensor, ang_vel: Tensor) -> None:
        check_mask(mask, self.n, self.device)
        kick = torch.cat([lin_vel, ang_vel], 1)
        check_tensor("push", kick, (self.n, 6), self.device)
        self._qvel[mask.numpy(), :6] += kick[mask].numpy()
        self._publish()

    def randomise(self, mask: Tensor, given: Draw, bodies: bool = True) -> None:
        check_mask(mask, self.n, self.device)
        self._take(mask, given, [x for x in vars(given) if bodies or x not in BODY_PARTS])
        rows = mask.nonzero()[:, 0].numpy()
        self._models.write_grip(rows, self.drawn, self.boxes)
        self._models.write_restitution(rows, self.drawn)
        if bodies:
            self._models.write_bodies(rows, self.drawn)

    def randomise_bodies(self, mask: Tensor, given: Draw) -> None:
        check_mask(mask, self.n, self.device)
        self._take(mask, given, BODY_PARTS)
        self._models.write_bodies(mask.nonzero()[:, 0].numpy(), self.drawn)

    def _take(self, mask: Tensor, given: Draw, parts: Sequence[str]) -> None:
        for name in parts:
            mine, theirs = getattr(self.drawn, name), getattr(given, name)
            check_tensor(name, theirs, tuple(mine.shape), self.device)
            mine[mask] = theirs[mask].to(mine.dtype)

    # --- time -----------------------------------------------------------------------------------
    def step(self, targets: Tensor) -> None:
        check_tensor("targets", targets, (self.n, len(self._pose)), self.device)
        new = targets.detach().double().numpy().copy()
        kp, kd = self.robot.kp * self.drawn.kp.numpy(), self.robot.kd * self.drawn.kd.numpy()
        strength, latency = self.drawn.strength.numpy(), self.drawn.latency.numpy()[:, None]
        for substep in range(SUBSTEPS):
            self._contain(new)
            target = np.where(substep >= latency, new, self._last)
            angle, speed = self._qpos[:, 7:], self._qvel[:, 6:]
            self._ctrl[:] = motor_torque(
                target, angle, speed, kp, kd, strength, self._peak, self._no_load
            )
            try:
                self._models.step(sense=substep == SUBSTEPS - 1)
            except SimulationError as error:  # these worlds did not step: treat them like a NaN
                self._qvel[error.ids] = np.nan
        self._last[:] = new
        self._count_overflow()
        self.state.force.copy_(torch.from_numpy(self._forces()))
        self._contain(self._last)
        self._publish()

    def _contain(self, targets: np.ndarray) -> None:
        """Reset diverged worlds to standing; their targets become the default pose."""
        # A sum is finite only if all its terms are, and any comparison with NaN is false.
        if np.abs(self._qvel).max() < SPEED_LIMIT and np.isfinite(self._qpos.sum() + targets.sum()):
            return
        sound = np.isfinite(self._qpos).all(1) & (np.abs(self._qvel) < SPEED_LIMIT).all(1)
        sound &= np.isfinite(targets).all(1)
        rows = np.flatnonzero(~sound)
        self._place(rows, standing(self.robot, self._ground[self.course_id.long()]))
        targets[rows] = self._pose
        self.state.failed[rows] = True
        self._nonfinite[rows] += 1

    def _count_overflow(self) -> None:
        full = self._full()
        if (full == self._seen).all():
            return
        rows = np.flatnonzero(full != self._seen)
        self._seen = full
        self._overflow[rows] += 1
        self.state.failed[rows] = True

    def _full(self) -> np.ndarray:
        """How often contacts or their constraint rows did not fit, [N]."""
        return self._warned[:, FULL[0], 1] + self._warned[:, FULL[1], 1]

    def _forces(self) -> np.ndarray:
        """Contact forces on the robot; MuJoCo's sensors report the opposite, those on the boxes."""
        return -self._sensors.reshape(self.n, -1, 3)

    def _publish(self, rows: np.ndarray | None = None) -> None:
        """Write the physics into `state`, of all worlds or of those in `rows`."""
        s, every = self.state, slice(None) if rows is None else rows
        qpos, qvel = self._qpos[every], self._qvel[every]
        pos, quat, joint_pos = qpos[:, :3], qpos[:, 3:7], qpos[:, 7:]
        for mine, new in (
            (s.base_pos, pos),
            (s.base_quat, quat),
            (s.joint_pos, joint_pos),
            (s.base_lin_vel, qvel[:, :3]),
            (s.base_ang_vel, qvel[:, 3:6]),
            (s.joint_vel, qvel[:, 6:]),
            (s.torque, self._ctrl[every]),
            (s.time, self._time[every]),
            (s.leg_pos, self._points.in_world(pos, quat, joint_pos)),
        ):
            mine.numpy()[every] = new

    def report(self) -> FaultReport:
        worlds = np.flatnonzero(self._nonfinite + self._overflow)
        report = FaultReport(
            int(self._nonfinite.sum()), int(self._overflow.sum()), 0, tuple(worlds.tolist())
        )
        self._nonfinite[:], self._overflow[:] = 0, 0
        return report

    def faults(self) -> Tensor:
        report = self.report()
        return torch.tensor([report.nonfinite, report.overflow, report.pool_overflow])

    # --- saving and restoring -------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """What to save. Model fields follow from courses and draws, the rest of `state` from the
        physics."""
        ours = {"last": self._last, "nonfinite": self._nonfinite, "overflow": self._overflow}
        return {
            **{name: torch.from_numpy(x) for name, x in (self._physics | ours).items()},
            **join_states(drawn=vars(self.drawn)),
            "course_id": self.course_id,
            "force": self.state.force,
            "failed": self.state.failed,
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        restore_engine(self, state)
        self._publish()


def _blank_state(n: int, groups: int) -> State:
    return State(
        base_pos=torch.zeros(n, 3),
        base_quat=torch.zeros(n, 4),
        base_lin_vel=torch.zeros(n, 3),
        base_ang_vel=torch.zeros(n, 3),
        joint_pos=torch.zeros(n, 12),
        joint_vel=torch.zeros(n, 12),
        torque=torch.zeros(n, 12),
        leg_pos=torch.zeros(n, 4, 3, 3),
        force=torch.zeros(n, groups, 3),
        time=torch.zeros(n),
        failed=torch.zeros(n, dtype=torch.bool),
    )
