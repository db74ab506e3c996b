"""Defines what every engine offers: N robots, each on its own course, stepped by joint targets.

All calls act on N worlds at once and select worlds by a mask, so a caller needs no loop over worlds
and, on a GPU, never waits for one. Courses come from a bank given at the start; `assign` gathers
them on the device. Tensors of `state`, `boxes` and `drawn` keep their storage: hold them once, and
read them again after each call. Never write into them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import torch
from torch import Tensor

from swap.courses.course import SLOTS, Boxes, Course
from swap.errors import UserError, unknown
from swap.robots import Robot
from swap.robots.friction_cone import FrictionCone
from swap.sim.randomise import Draw
from swap.state_dict import copy_into

EngineName = Literal["cpu", "gpu"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
CONTACTS, CONTACT_ROWS = 48, 200
"""Memory on the GPU: contacts per world, in a pool that all share; constraint rows per world."""
FEET, THIGHS, SHANKS, TRUNK = slice(0, 4), slice(4, 8), slice(8, 12), 12
"""The indices of `State.force`, in the order of `swap.robots.mjcf.force_groups`."""
SPEED_LIMIT = 1e4
"""A coordinate faster than this (m/s, rad/s) has diverged as surely as a NaN."""


@dataclass(frozen=True)
class State:
    """The state of every robot, float32; all positions belong to the same instant."""

    base_pos: Tensor  # [N, 3] world
    base_quat: Tensor  # [N, 4] (w, x, y, z), body to world
    base_lin_vel: Tensor  # [N, 3] world
    base_ang_vel: Tensor  # [N, 3] body
    joint_pos: Tensor  # [N, 12]
    joint_vel: Tensor  # [N, 12]
    torque: Tensor  # [N, 12] at the last physics step
    leg_pos: Tensor  # [N, 4, 3, 3] world: hip joint, knee joint, foot centre of each leg
    force: Tensor  # [N, 13, 3] world, on the robot, at the last physics step
    time: Tensor  # [N] s since reset
    failed: Tensor  # [N] bool: diverged or overflowed since its last reset, see Engine.step

    @property
    def foot_pos(self) -> Tensor:  # [N, 4, 3]
        return self.leg_pos[:, :, 2]

    @property
    def foot_force(self) -> Tensor:  # [N, 4, 3]
        return self.force[:, FEET]

    @property
    def thigh_force(self) -> Tensor:  # [N, 4, 3]
        return self.force[:, THIGHS]

    @property
    def shank_force(self) -> Tensor:  # [N, 4, 3]
        return self.force[:, SHANKS]

    @property
    def trunk_force(self) -> Tensor:  # [N, 3]
        return self.force[:, TRUNK]


@dataclass(frozen=True)
class Start:
    """The state to reset to, for all N worlds; a mask selects the worlds that are reset."""

    base_pos: Tensor  # [N, 3] world
    base_quat: Tensor  # [N, 4]
    base_lin_vel: Tensor  # [N, 3] world
    base_ang_vel: Tensor  # [N, 3] body
    joint_pos: Tensor  # [N, 12]
    joint_vel: Tensor  # [N, 12]


@dataclass(frozen=True)
class FaultReport:
    """What went wrong since the last report. All zeros is the normal case."""

    nonfinite: int = 0
    """How often a world became non-finite (or faster than SPEED_LIMIT) and was reset."""
    overflow: int = 0
    """How often a world had more contacts than fit; its physics was wrong, so it is marked failed.
    On the GPU, use more `contact_rows`."""
    pool_overflow: int = 0
    """Control steps in which the worlds' shared contact pool was full: use more `contacts`."""
    worlds: tuple[int, ...] = ()
    """The worlds that the first two numbers count."""


class Engine(Protocol):
    """Two implementations: `swap.sim.cpu.CpuEngine`, `swap.sim.gpu.GpuEngine`."""

    robot: Robot
    n: int
    device: torch.device
    state: State
    boxes: Boxes
    """The boxes of each world's current course, for the sensors."""
    course_id: Tensor
    """[N] int32: the index of each world's course in the bank."""
    drawn: Draw
    """The randomisation of each world now: what `randomise` and `randomise_bodies` last gave it."""

    def assign(self, mask: Tensor, course_id: Tensor) -> None:
        """Give the masked worlds [N] the courses [N] of the bank. Reset them next."""

    def reset(self, mask: Tensor, start: Start | None = None) -> None:
        """Put the masked worlds into `start`; without it they stand at the start of the course."""

    def step(self, targets: Tensor) -> None:
        """Take one control step: hold the joint targets [N, 12] for four physics steps.

        A world that becomes non-finite is put back to standing at its start, marked in
        `state.failed` and counted; other worlds are not affected. It stays marked until reset.
        """

    def push(self, mask: Tensor, lin_vel: Tensor, ang_vel: Tensor) -> None:
        """Push the masked worlds: add to the base's velocities, linear in the world frame and
        angular in the body frame, [N, 3] each."""

    def randomise(self, mask: Tensor, given: Draw, bodies: bool = True) -> None:
        """Give the masked worlds the friction, masses, motors and latency of the draw.

        `bodies=False` leaves masses and centres of mass as they are: see `randomise_bodies`.
        """

    def randomise_bodies(self, mask: Tensor, given: Draw) -> None:
        """Give the masked worlds the masses and centres of mass of the draw, and nothing else.

        On the GPU engine this takes hundreds of launches, whatever the mask, and is a recording of
        its own. Call it rarely, and never inside another recording.
        """

    def replace(self, ids: Sequence[int], courses: Sequence[Course]) -> None:
        """Put other courses into the bank; worlds get them at their next `assign`."""

    def report(self) -> FaultReport:
        """What went wrong since the last call; this waits for the device."""

    def faults(self) -> Tensor:
        """The three counts of `report` [3], on the device, without waiting. They restart from zero,
        as after a report."""

    def state_dict(self) -> dict[str, Tensor]:
        """All tensors that future steps depend on, by name, not copied; without the bank."""

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore exactly the engine that gave this state; its bank must be the same."""


def make_engine(
    name: str,
    robot: Robot,
    bank: Sequence[Course],
    n: int,
    device: str | None = None,
    slots: int = SLOTS,
    threads: int = 0,
    contacts: int = CONTACTS,
    contact_rows: int = CONTACT_ROWS,
    cone: FrictionCone = "pyramidal",
) -> Engine:
    """Make the engine `cpu` or `gpu`, with friction cones of this shape. `threads` (0: as
    many as torch has) is for `cpu`. The rest is for `gpu`: `device` defaults to CUDA, or without a
    GPU to Warp's CPU device, which runs the same code slowly; `contacts` and `contact_rows` reserve
    memory, which the CPU engine allocates on demand.
    """
    if name == "cpu":
        from swap.sim.cpu import CpuEngine

        return CpuEngine(robot, bank, n, slots=slots, threads=threads, cone=cone)
    if name == "gpu":
        from swap.sim.gpu import GpuEngine

        place = device or ("cuda" if torch.cuda.is_available() else "cpu")
        return GpuEngine(
            robot, bank, n, slots, place, nconmax=contacts, njmax=contact_rows, cone=cone
        )
    raise unknown("engine", name, ENGINES)


def engine_device(name: str, device: str) -> torch.device:
    """The device of this engine's tensors; UserError if the engine cannot run there."""
    if name == "cpu" and device != "cpu":
        raise UserError(f"engine cpu runs on device cpu, not {device}; use engine gpu")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"no GPU for device '{device}'; use engine cpu, or device 'cpu'")
    # A tensor has a device index even where the name, "cuda", has none.
    return torch.empty(0, device=device).device


def engine_for(device: str) -> EngineName:
    """The engine that suits a device."""
    return "gpu" if torch.device(device).type == "cuda" else "cpu"


def standing(robot: Robot, ground_z: Tensor) -> Start:
    """Standing at rest in the default pose, at x = y = 0, on ground of height `ground_z` [N]."""
    n, device = len(ground_z), ground_z.device
    base = torch.zeros(n, 3, device=device)
    base[:, 2] = ground_z + robot.stance
    quat = torch.zeros(n, 4, device=device)
    quat[:, 0] = 1
    pose = torch.tensor(robot.default_pose, device=device).repeat(n, 1)
    zero = torch.zeros(n, 3, device=device)
    return Start(base, quat, zero, zero.clone(), pose, torch.zeros_like(pose))


def restore_engine(engine: Engine, saved: Mapping[str, Tensor]) -> None:
    """Load a state into any engine; model fields are rebuilt from courses and draws."""
    everyone = torch.ones(engine.n, dtype=torch.bool, device=engine.device)
    copy_into(engine.state_dict(), saved)
    engine.assign(everyone, engine.course_id)
    engine.randomise(everyone, engine.drawn)
    copy_into(engine.state_dict(), saved)  # assigning a course cleared part of it


def check_setup(bank: Sequence[Course], n: int) -> None:
    if n < 1:
        raise UserError(f"{n} worlds; use one or more")
    if not bank:
        raise UserError("the bank has no course; give at least one")


def check_tensor(what: str, x: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Check shape and device, which needs no wait for a GPU. Bad values show up in the physics."""
    if tuple(x.shape) != shape:
        raise UserError(f"{what} has shape {list(x.shape)}; give {list(shape)}")
    if x.device.type != device.type:
        raise UserError(f"{what} is on {x.device}, the engine on {device}; move it there")


def check_mask(mask: Tensor, n: int, device: torch.device) -> None:
    check_tensor("mask", mask, (n,), device)
    if mask.dtype != torch.bool:
        raise UserError(f"mask is {mask.dtype}; give a bool a world")
